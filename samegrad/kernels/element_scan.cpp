#include "samegrad/kernels/element_scan.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

using SquareSums = void(const float*, std::int64_t, double*);
using AnyNanFloat = bool(const float*, std::int64_t);
using AnyNanDouble = bool(const double*, std::int64_t);
namespace portable {
SquareSums square_sums;
AnyNanFloat any_nan;
AnyNanDouble any_nan;
}  // namespace portable
namespace avx2 {
SquareSums square_sums;
AnyNanFloat any_nan;
AnyNanDouble any_nan;
}  // namespace avx2
namespace avx512 {
SquareSums square_sums;
AnyNanFloat any_nan;
AnyNanDouble any_nan;
}  // namespace avx512

void square_sums(const float* values, std::int64_t count, double* lanes) {
  static SquareSums* const kSums = kernel_for(portable::square_sums, avx2::square_sums, avx512::square_sums);
  kSums(values, count, lanes);
}

bool any_nan(const float* values, std::int64_t count) {
  static auto* const kAny = kernel_for<AnyNanFloat>(portable::any_nan, avx2::any_nan, avx512::any_nan);
  return kAny(values, count);
}

bool any_nan(const double* values, std::int64_t count) {
  static auto* const kAny = kernel_for<AnyNanDouble>(portable::any_nan, avx2::any_nan, avx512::any_nan);
  return kAny(values, count);
}

}  // namespace samegrad
