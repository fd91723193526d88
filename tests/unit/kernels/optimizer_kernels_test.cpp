// The steps have the bits of their formulas, operation by operation, for every set of instructions and every length.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "samegrad/kernels/adamw.h"
#include "samegrad/kernels/sgd.h"
#include "tests/unit/kernels/kernel_isas.h"

namespace samegrad {

namespace portable {
decltype(samegrad::adamw_step) adamw_step;
decltype(samegrad::sgd_step) sgd_step;
decltype(samegrad::momentum_step) momentum_step;
}  // namespace portable
namespace avx2 {
decltype(samegrad::adamw_step) adamw_step;
decltype(samegrad::sgd_step) sgd_step;
decltype(samegrad::momentum_step) momentum_step;
}  // namespace avx2
namespace avx512 {
decltype(samegrad::adamw_step) adamw_step;
decltype(samegrad::sgd_step) sgd_step;
decltype(samegrad::momentum_step) momentum_step;
}  // namespace avx512

namespace {

constexpr std::int64_t kGuard = 8;  // elements behind the last, which must stay

/// Arrays of a step, of `count` elements and the guard.
struct Arrays {
  explicit Arrays(std::int64_t count) {
    std::mt19937 random(static_cast<unsigned>(count));
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < count + kGuard; ++i) {
      gradient.push_back(i % 17 == 3 ? 0.0F : normal(random) * std::pow(10.0F, static_cast<float>(i % 40 - 30)));
      mean.push_back(i % 13 == 5 ? -0.0F : normal(random));
      square.push_back(i % 13 == 5 ? 0.0F
                                   : std::abs(normal(random)) * std::pow(10.0F, static_cast<float>(i % 30 - 25)));
      values.push_back(normal(random));
    }
  }
  std::vector<float> gradient, mean, square, values;
};

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

AdamwScalars adamw_scalars(double clip_factor) {
  return {.keep = 0.9999F,
          .beta1 = 0.9F,
          .beta2 = 0.999F,
          .fresh1 = 0.1F,
          .fresh2 = 0.001F,
          .step_size = 0.0031F,
          .root_correction = 0.0547F,
          .epsilon = 1e-8F,
          .clip_factor = clip_factor};
}

float clipped(float gradient, double factor) { return static_cast<float>(static_cast<double>(gradient) * factor); }

/// `contracted`: as a compiler makes it that fuses multiplications into additions.
void adamw_literally(const AdamwScalars& s, Arrays& a, std::int64_t count, bool contracted = false) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const float g = clipped(a.gradient[i], s.clip_factor);
    a.mean[i] = contracted ? std::fma(s.beta1, a.mean[i], s.fresh1 * g) : s.beta1 * a.mean[i] + s.fresh1 * g;
    a.square[i] = s.beta2 * a.square[i] + s.fresh2 * (g * g);
    a.values[i] =
        a.values[i] * s.keep - s.step_size * (a.mean[i] / (std::sqrt(a.square[i]) / s.root_correction + s.epsilon));
  }
}

const std::vector<std::int64_t> kCounts{0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 1000, 4096, 4099};

TEST(OptimizerKernels, AdamwHasTheBitsOfItsFormula) {
  for (const auto& [isa, step] : on_every_isa(portable::adamw_step, avx2::adamw_step, avx512::adamw_step)) {
    for (const std::int64_t count : kCounts) {
      for (const double clip_factor : {1.0, 0.3337}) {
        Arrays expected(count);
        Arrays made(count);
        adamw_literally(adamw_scalars(clip_factor), expected, count);
        step(adamw_scalars(clip_factor), made.gradient.data(), made.mean.data(), made.square.data(), made.values.data(),
             count);
        EXPECT_EQ(bits(made.mean), bits(expected.mean)) << isa << ", " << count;
        EXPECT_EQ(bits(made.square), bits(expected.square)) << isa << ", " << count;
        EXPECT_EQ(bits(made.values), bits(expected.values)) << isa << ", " << count;
        EXPECT_EQ(bits(made.gradient), bits(Arrays(count).gradient)) << "the gradient is only read";
      }
    }
  }
}

TEST(OptimizerKernels, AContractedStepWouldBeSeen) {
  Arrays exact(1000);
  Arrays contracted(1000);
  adamw_literally(adamw_scalars(1.0), exact, 1000);
  adamw_literally(adamw_scalars(1.0), contracted, 1000, /*contracted=*/true);
  EXPECT_NE(bits(exact.mean), bits(contracted.mean));
}

TEST(OptimizerKernels, SgdHasTheBitsOfItsFormula) {
  for (const auto& [isa, step] : on_every_isa(portable::sgd_step, avx2::sgd_step, avx512::sgd_step)) {
    for (const std::int64_t count : kCounts) {
      for (const double clip_factor : {1.0, 0.3337}) {
        const SgdScalars s{.rate = 0.05F, .decay = 0.01F, .momentum = 0.0F, .clip_factor = clip_factor};
        Arrays expected(count);
        Arrays made(count);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          const float decayed = clipped(expected.gradient[i], clip_factor) + s.decay * expected.values[i];
          expected.values[i] = expected.values[i] - s.rate * decayed;
        }
        step(s, made.gradient.data(), made.values.data(), count);
        EXPECT_EQ(bits(made.values), bits(expected.values)) << isa << ", " << count;
      }
    }
  }
}

TEST(OptimizerKernels, MomentumHasTheBitsOfItsFormula) {
  for (const auto& [isa, step] : on_every_isa(portable::momentum_step, avx2::momentum_step, avx512::momentum_step)) {
    for (const std::int64_t count : kCounts) {
      for (const double clip_factor : {1.0, 0.3337}) {
        const SgdScalars s{.rate = 0.05F, .decay = 0.01F, .momentum = 0.9F, .clip_factor = clip_factor};
        Arrays expected(count);
        Arrays made(count);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          const float decayed = clipped(expected.gradient[i], clip_factor) + s.decay * expected.values[i];
          expected.mean[i] = s.momentum * expected.mean[i] + decayed;
          expected.values[i] = expected.values[i] - s.rate * expected.mean[i];
        }
        step(s, made.gradient.data(), made.mean.data(), made.values.data(), count);
        EXPECT_EQ(bits(made.mean), bits(expected.mean)) << isa << ", " << count;
        EXPECT_EQ(bits(made.values), bits(expected.values)) << isa << ", " << count;
      }
    }
  }
}

}  // namespace
}  // namespace samegrad
