// Kernels that work on rows, on every set of instructions, against the same in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "samegrad/kernels/elementwise.h"
#include "samegrad/kernels/keyed_mask.h"
#include "samegrad/kernels/layer_norm.h"
#include "samegrad/kernels/softmax.h"
#include "tests/unit/kernels/kernel_isas.h"

namespace samegrad {

using LayerNorm = void(const float* x, const float* added, const float* weight, const float* bias,
                       const NormalRows<float>& rows, float* sum, float* y);
using LayerNormBackward = void(const float* of_y, const float* of_sum, const float* weight,
                               const NormalRows<float>& rows, float* to_sum, float* to_weight, float* to_bias);
using SoftmaxRows = void(float* values, std::int64_t rows, std::int64_t columns, float* largest, float* total);
using KeyedMaskKernel = void(const KeyedMask& mask, std::int64_t first, std::int64_t count, float* values);
using ColumnSums = void(const float* from, std::int64_t rows, std::int64_t columns, float* to);
namespace portable {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
SoftmaxRows softmax_rows;
KeyedMaskKernel keyed_mask;
ColumnSums column_sums;
}  // namespace portable
namespace avx2 {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
SoftmaxRows softmax_rows;
KeyedMaskKernel keyed_mask;
ColumnSums column_sums;
}  // namespace avx2
namespace avx512 {
LayerNorm layer_norm;
LayerNormBackward layer_norm_backward;
SoftmaxRows softmax_rows;
KeyedMaskKernel keyed_mask;
ColumnSums column_sums;
}  // namespace avx512

namespace {

constexpr std::int64_t kWidths[] = {1, 3, 16, 17, 128, 131};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Element>
struct Normalised {
  Normalised(std::int64_t row_count, std::int64_t width)
      : normal(static_cast<std::size_t>(row_count * width)),
        scale(static_cast<std::size_t>(row_count)),
        sum(normal.size()),
        y(normal.size()),
        to_sum(normal.size()),
        to_weight(static_cast<std::size_t>(width)),
        to_bias(to_weight),
        rows{row_count, width, normal.data(), scale.data()} {}

  std::vector<Element> normal, scale, sum, y, to_sum, to_weight, to_bias;
  NormalRows<Element> rows;
};

void expect_near(const std::vector<float>& values, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  double largest = 1.0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], tolerance * largest) << what << " " << i;
  }
}

TEST(LayerNorm, OfASumAndItsGradientAreThoseInDouble) {
  const auto forward = on_every_isa(portable::layer_norm, avx2::layer_norm, avx512::layer_norm);
  const auto backward =
      on_every_isa(portable::layer_norm_backward, avx2::layer_norm_backward, avx512::layer_norm_backward);
  for (std::size_t k = 0; k < forward.size(); ++k) {
    for (const std::int64_t width : kWidths) {
      const std::int64_t rows = 7;
      const auto x = noise(rows * width, 1, 4.0F), added = noise(rows * width, 2), weight = noise(width, 3, 2.0F);
      const auto bias = noise(width, 4), of_y = noise(rows * width, 5), of_sum = noise(rows * width, 6);
      Normalised<float> single(rows, width);
      Normalised<double> twice(rows, width);
      const std::string what = forward[k].isa + " " + std::to_string(width);
      forward[k].run(x.data(), added.data(), weight.data(), bias.data(), single.rows, single.sum.data(),
                     single.y.data());
      layer_norm(in_double(x).data(), in_double(added).data(), in_double(weight).data(), in_double(bias).data(),
                 twice.rows, twice.sum.data(), twice.y.data());
      expect_near(single.sum, twice.sum, 1e-7, what + " sum");
      // With few values a row's variance may be small against its mean.
      expect_near(single.y, twice.y, width < 16 ? 2e-5 : 2e-6, what + " y");
      backward[k].run(of_y.data(), of_sum.data(), weight.data(), single.rows, single.to_sum.data(),
                      single.to_weight.data(), single.to_bias.data());
      layer_norm_backward(in_double(of_y).data(), in_double(of_sum).data(), in_double(weight).data(), twice.rows,
                          twice.to_sum.data(), twice.to_weight.data(), twice.to_bias.data());
      expect_near(single.to_sum, twice.to_sum, width < 16 ? 1e-4 : 3e-6, what + " to sum");
      expect_near(single.to_weight, twice.to_weight, width < 16 ? 2e-5 : 3e-6, what + " to weight");
      expect_near(single.to_bias, twice.to_bias, 1e-6, what + " to bias");
    }
  }
}

TEST(LayerNorm, HasTheSameBitsOnEverySetOfInstructions) {
  for (const std::int64_t width : kWidths) {
    const auto x = noise(5 * width, 1), weight = noise(width, 3), bias = noise(width, 4);
    std::vector<std::vector<float>> results;
    for (const auto& [isa, kernel] : on_every_isa(portable::layer_norm, avx2::layer_norm, avx512::layer_norm)) {
      Normalised<float> rows(5, width);
      kernel(x.data(), nullptr, weight.data(), bias.data(), rows.rows, nullptr, rows.y.data());
      results.push_back(rows.y);
      EXPECT_EQ(results.back(), results.front()) << isa << " " << width;
    }
  }
}

TEST(LayerNorm, NanMakesItsRowNanAndNoOther) {
  for (const auto& [isa, kernel] : on_every_isa(portable::layer_norm, avx2::layer_norm, avx512::layer_norm)) {
    std::vector<float> x = noise(3 * 20, 1);
    x[20 + 19] = kNan;
    const std::vector<float> ones(20, 1.0F);
    Normalised<float> rows(3, 20);
    kernel(x.data(), nullptr, ones.data(), ones.data(), rows.rows, nullptr, rows.y.data());
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(rows.y[i]), i / 20 == 1) << isa << " " << i;
  }
}

TEST(Softmax, OfRowsIsThatInDoubleAlsoOfLargeLogits) {
  for (const auto& [isa, kernel] : on_every_isa(portable::softmax_rows, avx2::softmax_rows, avx512::softmax_rows)) {
    for (const std::int64_t columns : {1, 2, 4, 16, 17, 300}) {
      for (const float scale : {1.0F, 30.0F, 1e4F}) {
        std::vector<float> values = noise(9 * columns, 8, scale);
        std::vector<double> expected = in_double(values);
        std::vector<float> largest(9), total(9);
        std::vector<double> largest_expected(9), total_expected(9);
        kernel(values.data(), 9, columns, largest.data(), total.data());
        softmax_rows(expected.data(), 9, columns, largest_expected.data(), total_expected.data());
        const std::string what = isa + " " + std::to_string(columns);
        expect_near(values, expected, 5e-7, what);
        expect_near(largest, largest_expected, 0.0, what);
        for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(total[i] / total_expected[i], 1.0, 1e-6) << what;
      }
    }
  }
}

TEST(Softmax, NanAndInfinitySpoilTheirRowAndMinusInfinityIsZero) {
  for (const auto& [isa, kernel] : on_every_isa(portable::softmax_rows, avx2::softmax_rows, avx512::softmax_rows)) {
    std::vector<float> values = noise(4 * 20, 8);
    values[3] = kNan;
    values[20 + 19] = kInfinity;
    values[40] = -kInfinity;
    std::vector<float> largest(4), total(4);
    kernel(values.data(), 4, 20, largest.data(), total.data());
    for (std::size_t j = 0; j < 20; ++j) EXPECT_TRUE(std::isnan(values[j])) << isa << " " << j;
    EXPECT_TRUE(std::isnan(total[0]) && std::isnan(total[1])) << isa;
    EXPECT_EQ(values[40], 0.0F) << isa;
    for (std::size_t i = 41; i < 80; ++i) EXPECT_TRUE(values[i] > 0.0F && values[i] < 1.0F) << isa << " " << i;
  }
}

TEST(KeyedMask, BeginsAndEndsAnywhereOnEverySetOfInstructions) {
  const KeyedMask numbers{
      .key = {1, 2}, .operation = 3, .atom = 4000000000, .update = 5, .threshold = 1U << 23U, .kept = 2};
  std::vector<double> whole(400);
  for (std::uint32_t i = 0; i < 400; ++i) {
    const PhiloxCounter block = philox4x32({i / 4, 3, 4000000000, 5}, {1, 2});
    whole[i] = philox_unit_float(block[i % 4]) < 0.5F ? 0.0 : 2.0;
  }
  for (const auto& [isa, kernel] :
       on_every_isa<KeyedMaskKernel>(portable::keyed_mask, avx2::keyed_mask, avx512::keyed_mask)) {
    for (const std::int64_t first : {0, 1, 2, 3, 4, 130}) {
      for (const std::int64_t count : {0, 1, 2, 5, 69, 260}) {
        std::vector<float> mask(static_cast<std::size_t>(count) + 1, -1.0F);
        kernel(numbers, first, count, mask.data());
        EXPECT_EQ(mask.back(), -1.0F) << isa << ": no more than asked for";
        mask.pop_back();
        EXPECT_EQ(in_double(mask), std::vector<double>(whole.begin() + first, whole.begin() + first + count)) << isa;
      }
    }
  }
}

TEST(ColumnSums, AddRowsInTheirOrder) {
  for (const auto& [isa, kernel] : on_every_isa(portable::column_sums, avx2::column_sums, avx512::column_sums)) {
    for (const std::int64_t columns : kWidths) {
      const std::vector<float> rows = noise(9 * columns, 2);
      std::vector<float> expected(static_cast<std::size_t>(columns), 0.0F);
      for (std::size_t i = 0; i < rows.size(); ++i) expected[i % static_cast<std::size_t>(columns)] += rows[i];
      std::vector<float> sums(expected.size(), 3.0F);
      kernel(rows.data(), 9, columns, sums.data());
      EXPECT_EQ(sums, expected) << isa;
      kernel(rows.data(), 0, columns, sums.data());
      EXPECT_EQ(sums, std::vector<float>(expected.size(), 0.0F)) << isa;
    }
  }
}

}  // namespace
}  // namespace samegrad
