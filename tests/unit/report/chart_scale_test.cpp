#include "samegrad/report/svg/chart_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace samegrad::svg {
namespace {

bool is_nice(double step) {
  const double digits = step / std::pow(10.0, std::floor(std::log10(step * (1.0 + 1e-12))));
  return std::abs(digits - 1.0) < 1e-6 || std::abs(digits - 2.0) < 1e-6 || std::abs(digits - 5.0) < 1e-6;
}

// What must hold of every linear axis: few ascending ticks inside, at even and round distances, labels that differ.
void expect_good_axis(const ChartScale& scale, int most_ticks) {
  ASSERT_GE(scale.ticks.size(), 2U);
  EXPECT_LE(static_cast<int>(scale.ticks.size()), most_ticks);
  EXPECT_LT(scale.low, scale.high);
  std::set<std::string> labels;
  const double step = scale.ticks[1].value - scale.ticks[0].value;
  for (std::size_t i = 0; i < scale.ticks.size(); ++i) {
    EXPECT_GE(scale.ticks[i].value, scale.low);
    EXPECT_LE(scale.ticks[i].value, scale.high);
    EXPECT_TRUE(labels.insert(scale.ticks[i].label).second) << scale.ticks[i].label;
    if (i > 0) {
      EXPECT_NEAR(scale.ticks[i].value - scale.ticks[i - 1].value, step, 1e-6 * std::abs(step));
    }
  }
}

TEST(ChartScale, AxesOfRandomRangesAreGood) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-4.0, 6.0);
  std::uniform_real_distribution<double> place(-3.0, 3.0);
  for (int i = 0; i < 2000; ++i) {
    const double width = std::pow(10.0, exponent(random));
    const double low = place(random) * width;
    const ChartScale wide = linear_scale(low, low + width, 9, /*widen=*/true);
    SCOPED_TRACE(testing::Message() << low << " + " << width);
    expect_good_axis(wide, 9);
    EXPECT_LE(wide.low, low + 1e-9 * width);
    EXPECT_GE(wide.high, low + width - 1e-9 * width);
    EXPECT_TRUE(is_nice(wide.ticks[1].value - wide.ticks[0].value));
    const ChartScale tight = linear_scale(low, low + width, 9, /*widen=*/false);
    expect_good_axis(tight, 9);
    EXPECT_EQ(tight.low, low);
    EXPECT_EQ(tight.high, low + width);
  }
}

TEST(ChartScale, TicksStandAtRoundNumbers) {
  const ChartScale scale = linear_scale(1.283, 1.391, 9, /*widen=*/true);
  EXPECT_EQ(scale.ticks.front().label, "1.28");
  EXPECT_EQ(scale.ticks[1].label, "1.30");
  EXPECT_EQ(scale.ticks.back().label, "1.40");
}

TEST(ChartScale, LabelsHaveNoNegativeZero) {
  for (const Tick& tick : linear_scale(-0.3, 0.3, 9, true).ticks) EXPECT_FALSE(tick.label.starts_with("-0.0"));
}

TEST(ChartScale, RangesWithoutWidthOrFinitenessBecomeDrawable) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 0}, {1.5, 1.5}, {-3, -3}, {kInfinity, -kInfinity}, {std::nan(""), 1}, {1.0, 1.0 + 1e-16}, {2, 1}}) {
    const ChartScale scale = linear_scale(low, high, 9, true);
    EXPECT_LT(scale.low, scale.high);
    EXPECT_GE(scale.ticks.size(), 2U);
    EXPECT_TRUE(std::isfinite(scale.fraction(low)));
  }
}

TEST(ChartScale, WholeScaleHasNoFractions) {
  for (const double high : {1.0, 3.0, 6.0, 12.0, 99.0, 100.5}) {
    for (const Tick& tick : whole_scale(0.5, high + 0.5, 12).ticks) {
      EXPECT_EQ(tick.value, std::round(tick.value));
      EXPECT_EQ(tick.label.find('.'), std::string::npos);
    }
  }
  EXPECT_EQ(whole_scale(1.0, 1.0, 12).ticks.size(), 1U);
}

TEST(ChartScale, LogScaleCoversTheRangeWithPowersOfTen) {
  const ChartScale scale = log_scale(3.73e-8, 0.02157, 14);
  EXPECT_DOUBLE_EQ(scale.low, 1e-8);
  EXPECT_DOUBLE_EQ(scale.high, 0.1);
  EXPECT_EQ(scale.ticks.front().label, "1e-8");
  EXPECT_EQ(scale.ticks.back().label, "0.1");
  EXPECT_EQ(scale.ticks.size(), 8U);
  EXPECT_NEAR(scale.fraction(1e-6), 2.0 / 7.0, 1e-12);
  EXPECT_EQ(scale.fraction(0.0), 0.0);
  EXPECT_EQ(scale.fraction(-1.0), 0.0);
  EXPECT_EQ(scale.fraction(5.0), 1.0);
  EXPECT_LE(log_scale(1e-300, 1e300, 10).ticks.size(), 11U);
}

}  // namespace
}  // namespace samegrad::svg
