#include "samegrad/kernels/gelu.h"

#include <cmath>
#include <numbers>

#include "samegrad/kernels/isa.h"

namespace samegrad {

using Gelu = void(const float* x, const float* mask, std::int64_t count, float* values, float* slopes);
namespace portable {
Gelu gelu;
}
namespace avx2 {
Gelu gelu;
}
namespace avx512 {
Gelu gelu;
}

void gelu(const float* x, const float* mask, std::int64_t count, float* values, float* slopes) {
  static Gelu* const kKernel = kernel_for(portable::gelu, avx2::gelu, avx512::gelu);
  kKernel(x, mask, count, values, slopes);
}

void gelu(const double* x, const double* mask, std::int64_t count, double* values, double* slopes) {
  constexpr double kDensityAtZero = 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = x[i];
    const double factor = mask == nullptr ? 1.0 : mask[i];
    const double below = 0.5 * std::erfc(-at / std::numbers::sqrt2);
    values[i] = at * below * factor;
    if (slopes != nullptr) slopes[i] = (below + at * (kDensityAtZero * std::exp(-0.5 * at * at))) * factor;
  }
}

}  // namespace samegrad
