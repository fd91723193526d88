#include "samegrad/kernels/sgd.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

using SgdStep = decltype(sgd_step);
using MomentumStep = decltype(momentum_step);
namespace portable {
SgdStep sgd_step;
MomentumStep momentum_step;
}  // namespace portable
namespace avx2 {
SgdStep sgd_step;
MomentumStep momentum_step;
}  // namespace avx2
namespace avx512 {
SgdStep sgd_step;
MomentumStep momentum_step;
}  // namespace avx512

void sgd_step(const SgdScalars& scalars, const float* gradient, float* values, std::int64_t count) {
  static SgdStep* const kStep = kernel_for(portable::sgd_step, avx2::sgd_step, avx512::sgd_step);
  kStep(scalars, gradient, values, count);
}

void momentum_step(const SgdScalars& scalars, const float* gradient, float* buffer, float* values, std::int64_t count) {
  static MomentumStep* const kStep = kernel_for(portable::momentum_step, avx2::momentum_step, avx512::momentum_step);
  kStep(scalars, gradient, buffer, values, count);
}

}  // namespace samegrad
