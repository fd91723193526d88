// Prints what one core of this machine can do at most (machine_limits.h); `--json FILE` writes it there too.
#include <cstdio>
#include <fstream>
#include <string_view>

#include "machine_limits.h"
#include "samegrad/base/json.h"

int main(int argc, char** argv) {
  const bool to_file = argc == 3 && std::string_view(argv[1]) == "--json";
  if (argc != 1 && !to_file) {
    std::fprintf(stderr, "machine_limits [--json FILE]\n");
    return 2;
  }
  const double flops = samegrad::fma_flops_per_second();
  const double bytes = samegrad::copy_bytes_per_second();
  std::printf("one core: %.1f GFLOP/s of float32 fused multiply-adds, %.1f GB/s copied\n", flops / 1e9, bytes / 1e9);
  if (to_file) {
    std::ofstream(argv[2]) << samegrad::Json{{"fma_flops_per_second", flops}, {"copy_bytes_per_second", bytes}} << "\n";
  }
  return 0;
}
