#include "samegrad/kernels/isa.h"

#include <algorithm>
#include <cstdlib>

namespace samegrad {
namespace {

Isa of_processor() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx2 && avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kPortable;
}

}  // namespace

std::string_view isa_name(Isa isa) { return isa == Isa::kAvx512 ? "avx512" : isa == Isa::kAvx2 ? "avx2" : "portable"; }

Isa best_isa(std::string_view capability) {
  const Isa most = capability == "default" ? Isa::kPortable : capability == "avx2" ? Isa::kAvx2 : Isa::kAvx512;
  return std::min(most, of_processor());
}

Isa kernel_isa() {
  static const Isa kIsa = [] {
    const char* const capability = std::getenv("ATEN_CPU_CAPABILITY");
    return best_isa(capability == nullptr ? "" : capability);
  }();
  return kIsa;
}

}  // namespace samegrad
