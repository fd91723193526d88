#include "samegrad/kernels/adamw.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

using AdamwStep = decltype(adamw_step);
namespace portable {
AdamwStep adamw_step;
}
namespace avx2 {
AdamwStep adamw_step;
}
namespace avx512 {
AdamwStep adamw_step;
}

void adamw_step(const AdamwScalars& scalars, const float* gradient, float* mean, float* square, float* values,
                std::int64_t count) {
  static AdamwStep* const kStep = kernel_for(portable::adamw_step, avx2::adamw_step, avx512::adamw_step);
  kStep(scalars, gradient, mean, square, values, count);
}

}  // namespace samegrad
