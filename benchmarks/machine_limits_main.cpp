// Prints what one core of this machine can do at most (machine_limits.h), as a line or, with --json, as an object.
#include <cstdio>
#include <string_view>

#include "machine_limits.h"

int main(int argc, char** argv) {
  const double flops = samegrad::fma_flops_per_second();
  const double bytes = samegrad::copy_bytes_per_second();
  if (argc == 2 && std::string_view(argv[1]) == "--json") {
    std::printf("{\"fma_flops_per_second\": %.6g, \"copy_bytes_per_second\": %.6g}\n", flops, bytes);
  } else {
    std::printf("one core: %.1f GFLOP/s of float32 fused multiply-adds, %.1f GB/s copied\n", flops / 1e9, bytes / 1e9);
  }
  return 0;
}
