#include "samegrad/objective/scale.h"

#include <cmath>
#include <cstdlib>

#include "samegrad/base/check.h"
#include "samegrad/kernels/gradient_sum.h"

namespace samegrad {

namespace {

constexpr int kPlainExponents = 100;  // far from where a float's reciprocal is not normal

/// Note [Division of floats]
/// float(double(g) / double(n)) is the correctly rounded g / n where n is a float too: a double has more than twice a
/// float's bits, so the quotient of two floats is rounded in double to what rounds like itself. The division of floats
/// gives the same bits in less than half the time; a power of two divides by multiplying, exactly.
void divide(float* gradient, std::int64_t elements, float divisor) {
  int exponent = 0;
  if (std::frexp(divisor, &exponent) == 0.5F && std::abs(exponent) < kPlainExponents) {
    return multiply_floats(gradient, 1.0F / divisor, elements);
  }
  divide_floats(gradient, divisor, elements);
}

}  // namespace

double loss_sum_factor(GradientReduction reduction, std::int64_t world_size, double global_count) {
  SAMEGRAD_CHECK_OP(world_size, >=, 1);
  SAMEGRAD_CHECK_OP(global_count, >, 0.0);
  switch (reduction) {
    case GradientReduction::kWindow:
      return 1.0;
    case GradientReduction::kMean:
      return static_cast<double>(world_size) / global_count;
    case GradientReduction::kSum:
      break;
  }
  return 1.0 / global_count;
}

double gradient_divisor(GradientReduction reduction, double global_count) {
  SAMEGRAD_CHECK_OP(global_count, >, 0.0);
  return reduction == GradientReduction::kWindow ? global_count : 1.0;
}

double share_of_unit(double unit_weight, std::int64_t tokens, std::int64_t unit_tokens) {
  SAMEGRAD_CHECK_OP(unit_tokens, >, 0);
  return unit_weight * (static_cast<double>(tokens) / static_cast<double>(unit_tokens));
}

double exchange_divisor(GradientReduction reduction, std::int64_t world_size) {
  SAMEGRAD_CHECK_OP(world_size, >=, 1);
  return reduction == GradientReduction::kMean ? static_cast<double>(world_size) : 1.0;
}

void divide_gradient(float* gradient, std::int64_t elements, double divisor) {
  if (divisor == 1.0) return;
  const auto narrow = static_cast<float>(divisor);
  if (static_cast<double>(narrow) == divisor) return divide(gradient, elements, narrow);
  divide_floats_in_double(gradient, divisor, elements);
}

void divide_gradient(double* gradient, std::int64_t elements, double divisor) {
  if (divisor == 1.0) return;
  divide_doubles(gradient, divisor, elements);
}

}  // namespace samegrad
