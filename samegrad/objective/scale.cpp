#include "samegrad/objective/scale.h"

#include "samegrad/base/check.h"

namespace samegrad {

namespace {

template <typename T>
void divide(T* gradient, std::int64_t elements, double divisor) {
  for (std::int64_t i = 0; i < elements; ++i) {
    gradient[i] = static_cast<T>(static_cast<double>(gradient[i]) / divisor);
  }
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

void divide_gradient(float* gradient, std::int64_t elements, double divisor) { divide(gradient, elements, divisor); }

void divide_gradient(double* gradient, std::int64_t elements, double divisor) { divide(gradient, elements, divisor); }

}  // namespace samegrad
