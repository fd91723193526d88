#include "samegrad/plan/cost_fit.h"

#include <algorithm>
#include <cmath>

#include "samegrad/base/check.h"

namespace samegrad {

namespace {

/// Sums over the lengths of the products of u = n / t, v = n^2 / t and 1: the normal equations of u a + v b = 1.
struct Sums {
  double u = 0.0;
  double v = 0.0;
  double uu = 0.0;
  double uv = 0.0;
  double vv = 0.0;
};

Sums sums_of(std::span<const MeasuredCost> measured) {
  Sums sums;
  for (const MeasuredCost& one : measured) {
    const double u = static_cast<double>(one.tokens) / one.seconds;
    const double v = u * static_cast<double>(one.tokens);
    sums.u += u;
    sums.v += v;
    sums.uu += u * u;
    sums.uv += u * v;
    sums.vv += v * v;
  }
  return sums;
}

}  // namespace

CostFit fit_cost(std::span<const MeasuredCost> measured) {
  const Sums sums = sums_of(measured);
  const double determinant = sums.uu * sums.vv - sums.uv * sums.uv;
  SAMEGRAD_CHECK_OP(determinant, >, 0.0);
  CostFit fit{.cost = {.per_token = (sums.u * sums.vv - sums.v * sums.uv) / determinant,
                       .per_token_pair = (sums.v * sums.uu - sums.u * sums.uv) / determinant}};
  // The square is convex: where its least point is outside, the least allowed one is on the edge that was crossed.
  if (fit.cost.per_token_pair < 0.0) fit.cost = {.per_token = sums.u / sums.uu, .per_token_pair = 0.0};
  if (fit.cost.per_token < 0.0) fit.cost = {.per_token = 0.0, .per_token_pair = sums.v / sums.vv};
  for (const MeasuredCost& one : measured) {
    fit.largest_error = std::max(fit.largest_error, std::abs(fit.cost.of(one.tokens) / one.seconds - 1.0));
  }
  return fit;
}

}  // namespace samegrad
