#include "samegrad/objective/scale.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

// The lesson's numbers: gradient sums g = -24 (12 tokens) and +72 (36 tokens), so the right gradient is 48 / 48 = 1.
TEST(Scale, EveryReductionGivesTheGradientOfTheGlobalMean) {
  const std::array<double, 2> sums{-24.0, 72.0};
  const double count = 48.0;
  const auto exchanged = [&](GradientReduction reduction) {
    const double factor = loss_sum_factor(reduction, 2, count);
    const double total = factor * sums[0] + factor * sums[1];
    return (reduction == GradientReduction::kMean ? total / 2.0 : total) / gradient_divisor(reduction, count);
  };
  EXPECT_DOUBLE_EQ(exchanged(GradientReduction::kWindow), 1.0);
  EXPECT_DOUBLE_EQ(exchanged(GradientReduction::kMean), 1.0);
  EXPECT_DOUBLE_EQ(exchanged(GradientReduction::kSum), 1.0);
}

TEST(Scale, OnlyTheMeanOverRanksKnowsTheNumberOfRanks) {
  EXPECT_EQ(loss_sum_factor(GradientReduction::kWindow, 1, 7.0), loss_sum_factor(GradientReduction::kWindow, 9, 7.0));
  EXPECT_EQ(loss_sum_factor(GradientReduction::kSum, 1, 7.0), loss_sum_factor(GradientReduction::kSum, 9, 7.0));
  EXPECT_EQ(loss_sum_factor(GradientReduction::kMean, 8, 4.0), 2.0);
}

TEST(Scale, WithoutUnitsThereIsNoFactor) {
  EXPECT_THROW(loss_sum_factor(GradientReduction::kMean, 2, 0.0), InvariantError);
  EXPECT_THROW(gradient_divisor(GradientReduction::kWindow, 0.0), InvariantError);
  EXPECT_THROW(gradient_divisor(GradientReduction::kWindow, std::numeric_limits<double>::quiet_NaN()), InvariantError);
}

// Rounded once from the double quotient: 1/3 in float is 0x3eaaaaab; 2^24 + 2 over 3 is 5592406, a float exactly.
TEST(DivideGradient, RoundsTheDoubleQuotientOnceAndKeepsSpecialValues) {
  using Limits = std::numeric_limits<float>;
  std::array<float, 6> values{1.0F, 16777218.0F, -0.0F, Limits::infinity(), Limits::quiet_NaN(), 3e-45F};
  divide_gradient(values.data(), static_cast<std::int64_t>(values.size()), 3.0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(values[0]), 0x3eaaaaabU);
  EXPECT_EQ(values[1], 5592406.0F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(values[2]), 0x80000000U);
  EXPECT_EQ(values[3], Limits::infinity());
  EXPECT_NE(values[4], values[4]);
  EXPECT_EQ(values[5], Limits::denorm_min());  // 2 * 2^-149 / 3 rounds to 2^-149
}

// A divisor that float cannot hold: 2^24 + 1. Divided as a float it would be 2^24, and the quotient 1.
TEST(DivideGradient, UsesTheDivisorAsADouble) {
  std::array<float, 1> value{16777216.0F};
  divide_gradient(value.data(), 1, 16777217.0);
  EXPECT_LT(value[0], 1.0F);
  std::array<double, 1> wide{1.0};
  divide_gradient(wide.data(), 1, 3.0);
  EXPECT_EQ(wide[0], 1.0 / 3.0);
}

}  // namespace
}  // namespace samegrad
