#include "samegrad/plan/cost_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace samegrad {
namespace {

std::vector<MeasuredCost> times_of(const SampleCost& cost) {
  std::vector<MeasuredCost> measured;
  for (const std::int64_t tokens : {8, 16, 32, 64, 128}) measured.push_back({tokens, cost.of(tokens)});
  return measured;
}

/// What fit_cost makes least.
double squares(const std::vector<MeasuredCost>& measured, const SampleCost& cost) {
  double sum = 0.0;
  for (const MeasuredCost& one : measured) sum += std::pow(cost.of(one.tokens) / one.seconds - 1.0, 2);
  return sum;
}

TEST(CostFit, FindsTheCostsThatMadeTheTimes) {
  const CostFit fit = fit_cost(times_of({.per_token = 3e-6, .per_token_pair = 2e-8}));
  EXPECT_NEAR(fit.cost.per_token, 3e-6, 1e-14);
  EXPECT_NEAR(fit.cost.per_token_pair, 2e-8, 1e-16);
  EXPECT_LT(fit.largest_error, 1e-9);
}

TEST(CostFit, OfNoisyTimesNoNearbyCostsAreBetter) {
  std::vector<MeasuredCost> measured = times_of({.per_token = 3e-6, .per_token_pair = 2e-8});
  const double noise[] = {1.08, 0.97, 1.02, 0.95, 1.01};
  for (std::size_t i = 0; i < measured.size(); ++i) measured[i].seconds *= noise[i];
  const CostFit fit = fit_cost(measured);
  for (const double a : {0.99, 1.0, 1.01}) {
    for (const double b : {0.99, 1.0, 1.01}) {
      if (a == 1.0 && b == 1.0) continue;
      EXPECT_GT(squares(measured, {fit.cost.per_token * a, fit.cost.per_token_pair * b}), squares(measured, fit.cost));
    }
  }
  EXPECT_GT(fit.largest_error, 0.02);
  EXPECT_LT(fit.largest_error, 0.1);
}

TEST(CostFit, NeverGivesACostBelowZero) {
  // Time per token falls with the length; time grows faster than the square.
  const std::vector<MeasuredCost> falling{{10, 1.0}, {20, 1.5}, {40, 2.2}};
  EXPECT_EQ(fit_cost(falling).cost.per_token_pair, 0.0);
  EXPECT_GT(fit_cost(falling).cost.per_token, 0.0);
  const std::vector<MeasuredCost> steep{{10, 1.0}, {20, 8.0}, {40, 64.0}};
  EXPECT_EQ(fit_cost(steep).cost.per_token, 0.0);
  EXPECT_GT(fit_cost(steep).cost.per_token_pair, 0.0);
}

}  // namespace
}  // namespace samegrad
