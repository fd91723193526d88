#include "samegrad/kernels/keyed_mask.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

template <typename Element>
using Mask = void(const KeyedMask& mask, std::int64_t first, std::int64_t count, Element* values);
namespace portable {
Mask<float> keyed_mask;
Mask<double> keyed_mask;
}  // namespace portable
namespace avx2 {
Mask<float> keyed_mask;
Mask<double> keyed_mask;
}  // namespace avx2
namespace avx512 {
Mask<float> keyed_mask;
Mask<double> keyed_mask;
}  // namespace avx512

void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, float* values) {
  static auto* const kKernel = kernel_for<Mask<float>>(portable::keyed_mask, avx2::keyed_mask, avx512::keyed_mask);
  kKernel(mask, first, count, values);
}

void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, double* values) {
  static auto* const kKernel = kernel_for<Mask<double>>(portable::keyed_mask, avx2::keyed_mask, avx512::keyed_mask);
  kKernel(mask, first, count, values);
}

}  // namespace samegrad
