// GELU and its slope, on every set of instructions, against the C library's erfc and exp in double.
#include "samegrad/kernels/gelu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/kernels/kernel_isas.h"

namespace samegrad {

using Gelu = void(const float* x, const float* mask, std::int64_t count, float* values, float* slopes);
namespace portable {
Gelu gelu;
}
namespace avx2 {
Gelu gelu;
}
namespace avx512 {
Gelu gelu;
}

namespace {

const auto kKernels = on_every_isa(portable::gelu, avx2::gelu, avx512::gelu);

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double exact_value(double x) { return x * phi(x); }
double exact_slope(double x) { return phi(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI); }

std::vector<float> grid() {
  std::vector<float> x;
  for (float at = -12.5F; at < 14.0F; at += 0.0009765625F) x.push_back(at + 1e-4F * std::sin(at));
  return x;
}

/// Largest relative error of values.
double error(const std::vector<float>& x, const std::function<float(std::size_t)>& value) {
  double most = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = exact_value(x[i]);
    if (exact != 0.0) most = std::max(most, std::abs(value(i) - exact) / std::abs(exact));
  }
  return most;
}

TEST(Gelu, IsExactToAFewRoundingsAlsoFarToTheLeft) {
  const std::vector<float> x = grid();
  for (const auto& [isa, kernel] : kKernels) {
    std::vector<float> values(x.size());
    std::vector<float> slopes(x.size());
    kernel(x.data(), nullptr, static_cast<std::int64_t>(x.size()), values.data(), slopes.data());
    EXPECT_LT(error(x, [&](std::size_t i) { return values[i]; }), 4e-7) << isa;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(slopes[i], exact_slope(x[i]), 2.5e-7) << isa << " " << x[i];
  }
}

TEST(Gelu, TheTangentFormWouldBeFound) {
  const std::vector<float> x = grid();
  EXPECT_GT(error(x,
                  [&](std::size_t i) {
                    const double at = x[i];
                    return static_cast<float>(
                        0.5 * at * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (at + 0.044715 * at * at * at))));
                  }),
            1e-3);
}

TEST(Gelu, AValuesBitsDoNotDependOnItsPlace) {
  const std::vector<float> x = noise(67, 4, 3.0F);
  for (const auto& [isa, kernel] : kKernels) {
    std::vector<float> values(67);
    std::vector<float> slopes(67);
    kernel(x.data(), nullptr, 67, values.data(), slopes.data());
    for (std::size_t i = 0; i < 67; ++i) {
      float value = 0.0F;
      float slope = 0.0F;
      kernel(&x[i], nullptr, 1, &value, &slope);
      EXPECT_EQ(value, values[i]) << isa << " " << i;
      EXPECT_EQ(slope, slopes[i]) << isa << " " << i;
    }
  }
}

TEST(Gelu, MaskMultipliesBothAndSlopesMayLieWhereXWas) {
  const std::vector<float> x = noise(37, 4, 3.0F);
  const std::vector<float> mask = noise(37, 5);
  for (const auto& [isa, kernel] : kKernels) {
    std::vector<float> values(37);
    std::vector<float> slopes(37);
    kernel(x.data(), nullptr, 37, values.data(), slopes.data());
    std::vector<float> masked(37);
    std::vector<float> in_place = x;
    kernel(in_place.data(), mask.data(), 37, masked.data(), in_place.data());
    std::vector<float> alone(37);
    kernel(x.data(), mask.data(), 37, alone.data(), nullptr);
    for (std::size_t i = 0; i < 37; ++i) {
      EXPECT_EQ(masked[i], values[i] * mask[i]) << isa;
      EXPECT_EQ(in_place[i], slopes[i] * mask[i]) << isa;
      EXPECT_EQ(alone[i], masked[i]) << isa;
    }
  }
}

TEST(Gelu, NanStaysAndTheEndsAreTheLine) {
  const std::vector<float> x{std::numeric_limits<float>::quiet_NaN(), 1e30F, -1e30F, 0.0F, 20.0F, -20.0F};
  for (const auto& [isa, kernel] : kKernels) {
    std::vector<float> values(6);
    std::vector<float> slopes(6);
    kernel(x.data(), nullptr, 6, values.data(), slopes.data());
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(slopes[0])) << isa;
    EXPECT_EQ(std::vector(values.begin() + 1, values.end()), (std::vector{1e30F, -0.0F, 0.0F, 20.0F, -0.0F})) << isa;
    EXPECT_EQ(std::vector(slopes.begin() + 1, slopes.end()), (std::vector{1.0F, 0.0F, 0.5F, 1.0F, 0.0F})) << isa;
    const float infinite = std::numeric_limits<float>::infinity();
    kernel(&infinite, nullptr, 1, values.data(), nullptr);
    EXPECT_EQ(values[0], infinite) << isa;
  }
}

TEST(Gelu, InDoubleIsTheCLibrarys) {
  const std::vector<double> x{-3.0, -0.5, 0.0, 0.25, 4.0};
  std::vector<double> values(5);
  std::vector<double> slopes(5);
  gelu(x.data(), nullptr, 5, values.data(), slopes.data());
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(values[i], exact_value(x[i]), 1e-15);
    EXPECT_NEAR(slopes[i], exact_slope(x[i]), 1e-15);
  }
}

}  // namespace
}  // namespace samegrad
