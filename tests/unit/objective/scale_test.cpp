#include "samegrad/objective/scale.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

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

// Of numbers of all sizes, every second one subnormal, and quotients that are: divided as floats where that gives the
// same bits (Note [Division of floats]).
TEST(DivideGradient, HasTheBitsOfTheDoubleQuotientForNumbersAndDivisorsOfAllSizes) {
  std::mt19937 random(5);
  std::vector<float> numbers(20'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    numbers[i] = std::bit_cast<float>(i % 2 == 0 ? bits : bits & 0x807fffffU);
  }
  for (const double divisor :
       {1.0,  2.0,     3.0,    4.0,     7.0,     48.0,      2204.0,   16777213.0, 16777216.0, 0.5,  0.1,
        1e-3, 0x1p-30, 0x1p99, 0x1p100, 0x1p126, 0x1.8p127, 0x1p-126, 0x1p-140,   3e38,       1e300}) {
    std::vector<float> divided = numbers;
    divide_gradient(divided.data(), static_cast<std::int64_t>(divided.size()), divisor);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto expected = static_cast<float>(static_cast<double>(numbers[i]) / divisor);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(divided[i]));
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(divided[i]), std::bit_cast<std::uint32_t>(expected))
            << numbers[i] << " / " << divisor;
      }
    }
  }
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
