// The matrix product, on every set of instructions, against sums in double.
#include "samegrad/kernels/multiply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/kernels/kernel_isas.h"

namespace samegrad {

using Multiply = void(const MatrixView<float>& a, const MatrixView<float>& b, std::int64_t rows, std::int64_t columns,
                      std::int64_t depth, const float* bias, float* c, float* packed);
namespace portable {
Multiply multiply;
}
namespace avx2 {
Multiply multiply;
}
namespace avx512 {
Multiply multiply;
}

namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

struct Operands {
  Operands(Shape of_shape, bool a_across, bool b_across)
      : shape(of_shape),
        a_values(noise(shape.rows * shape.depth, 1)),
        b_values(noise(shape.depth * shape.columns, 2)),
        bias(noise(shape.columns, 3)),
        a{a_values.data(), a_across ? 1 : shape.depth, a_across ? shape.rows : 1},
        b{b_values.data(), b_across ? 1 : shape.columns, b_across ? shape.depth : 1} {}

  Shape shape;
  std::vector<float> a_values;
  std::vector<float> b_values;
  std::vector<float> bias;
  MatrixView<float> a;
  MatrixView<float> b;
};

std::vector<float> run(Multiply* kernel, const Operands& of, const float* bias) {
  std::vector<float> packed(kMultiplyPacked);
  std::vector<float> c(static_cast<std::size_t>(of.shape.rows * of.shape.columns), -7.0F);
  kernel(of.a, of.b, of.shape.rows, of.shape.columns, of.shape.depth, bias, c.data(), packed.data());
  return c;
}

/// Largest error, in units of what rounding each term and each addition once may give.
double error(const std::vector<float>& c, const Operands& of, const float* bias) {
  double most = 0.0;
  for (std::int64_t i = 0; i < of.shape.rows; ++i) {
    for (std::int64_t j = 0; j < of.shape.columns; ++j) {
      double sum = bias == nullptr ? 0.0 : bias[j];
      double size = std::abs(sum);
      for (std::int64_t p = 0; p < of.shape.depth; ++p) {
        const double term = static_cast<double>(of.a.values[i * of.a.row_stride + p * of.a.column_stride]) *
                            of.b.values[p * of.b.row_stride + j * of.b.column_stride];
        sum += term;
        size += std::abs(term);
      }
      const double off = std::abs(c[static_cast<std::size_t>(i * of.shape.columns + j)] - sum);
      const double allowed = size * std::sqrt(static_cast<double>(of.shape.depth) + 2.0) * 0x1p-23;
      most = std::max(most, off == 0.0 ? 0.0 : off / allowed);
    }
  }
  return most;
}

const std::vector<Shape> kShapes = {{1, 1, 1},     {0, 5, 3},      {7, 3, 0},       {7, 17, 5},
                                    {12, 32, 128}, {13, 33, 7},    {193, 40, 9},    {25, 513, 12},
                                    {11, 65, 257}, {50, 130, 513}, {205, 300, 259}, {301, 20, 31}};

TEST(Multiply, IsTheProductInEveryLayoutOnEverySetOfInstructions) {
  for (const auto& [isa, kernel] : on_every_isa(portable::multiply, avx2::multiply, avx512::multiply)) {
    for (const Shape& shape : kShapes) {
      for (const int layout : {0, 1, 2, 3}) {
        const Operands of(shape, (layout & 1) != 0, (layout & 2) != 0);
        for (const float* bias : {static_cast<const float*>(nullptr), of.bias.data()}) {
          EXPECT_LT(error(run(kernel, of, bias), of, bias), 1.0)
              << isa << " " << shape.rows << " " << shape.columns << " " << shape.depth << " layout " << layout;
        }
      }
    }
  }
}

TEST(Multiply, AMissingTermWouldBeFound) {
  const Operands of({50, 130, 513}, false, false);
  std::vector<float> c = run(portable::multiply, of, of.bias.data());
  c[777] -= of.a_values[5 * 513 + 9] * of.b_values[9 * 130 + 127];  // of row 5 and column 127
  EXPECT_GT(error(c, of, of.bias.data()), 1.0);
}

TEST(Multiply, ARowsBitsDoNotDependOnTheOthersNorOnTheLayout) {
  for (const auto& [isa, kernel] : on_every_isa(portable::multiply, avx2::multiply, avx512::multiply)) {
    const Operands whole({205, 70, 300}, false, false);
    const std::vector<float> all = run(kernel, whole, whole.bias.data());
    for (const std::int64_t rows : {1, 3, 12, 191, 204}) {
      const std::int64_t first = 205 - rows;
      Operands part = whole;
      part.shape.rows = rows;
      part.a = {whole.a_values.data() + first * 300, 300, 1};
      const std::vector<float> some = run(kernel, part, whole.bias.data());
      EXPECT_EQ(std::memcmp(some.data(), all.data() + first * 70, some.size() * sizeof(float)), 0) << isa << rows;
    }
    Operands turned = whole;
    for (std::int64_t p = 0; p < 300; ++p) {
      for (std::int64_t j = 0; j < 70; ++j) {
        turned.b_values[static_cast<std::size_t>(j * 300 + p)] = whole.b_values[static_cast<std::size_t>(p * 70 + j)];
      }
    }
    turned.a.values = whole.a_values.data();
    turned.b = {turned.b_values.data(), 1, 300};
    EXPECT_EQ(run(kernel, turned, whole.bias.data()), all) << isa;
  }
}

TEST(Multiply, AColumnsBitsDoNotDependOnTheOthers) {
  for (const auto& [isa, kernel] : on_every_isa(portable::multiply, avx2::multiply, avx512::multiply)) {
    for (const bool a_across : {false, true}) {
      const Operands whole({300, 530, 300}, a_across, false);  // of so many columns a is packed, too
      const std::vector<float> all = run(kernel, whole, whole.bias.data());
      for (const std::int64_t columns : {1, 17, 255, 256}) {
        Operands part = whole;
        part.shape.columns = columns;
        const std::vector<float> some = run(kernel, part, whole.bias.data());
        for (std::int64_t i = 0; i < 300; ++i) {
          EXPECT_EQ(std::memcmp(some.data() + i * columns, all.data() + i * 530,
                                static_cast<std::size_t>(columns) * sizeof(float)),
                    0)
              << isa << " columns " << columns << " row " << i;
        }
      }
    }
  }
}

TEST(Multiply, SetsOfInstructionsWithFusedMultiplyAddHaveTheSameBits) {
  const Operands of({50, 130, 513}, true, true);
  const auto kernels = on_every_isa(portable::multiply, avx2::multiply, avx512::multiply);
  if (kernels.size() < 3) GTEST_SKIP() << "no AVX-512 on this processor";
  EXPECT_EQ(run(kernels[1].run, of, nullptr), run(kernels[2].run, of, nullptr));
}

TEST(Multiply, NanAndInfinityStayInTheirRowAndColumn) {
  for (const auto& [isa, kernel] : on_every_isa(portable::multiply, avx2::multiply, avx512::multiply)) {
    Operands of({30, 35, 20}, false, false);
    of.a_values[7 * 20 + 3] = std::numeric_limits<float>::quiet_NaN();
    of.b_values[4 * 35 + 34] = std::numeric_limits<float>::infinity();
    const std::vector<float> c = run(kernel, of, nullptr);
    for (std::size_t i = 0; i < 30; ++i) {
      for (std::size_t j = 0; j < 35; ++j) {
        EXPECT_EQ(std::isnan(c[i * 35 + j]), i == 7) << isa << " " << i << " " << j;
        EXPECT_EQ(std::isfinite(c[i * 35 + j]), i != 7 && j != 34) << isa << " " << i << " " << j;
      }
    }
  }
}

TEST(Multiply, InDoubleIsTheProductToo) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6};  // [2, 3]
  const std::vector<double> b{1, 0, 2, 1, 0, 3};  // [3, 2]
  const std::vector<double> bias{10, 20};
  std::vector<double> c(4);
  multiply({a.data(), 3, 1}, {b.data(), 2, 1}, 2, 2, 3, bias.data(), c.data());
  EXPECT_EQ(c, (std::vector<double>{15, 31, 24, 43}));
}

}  // namespace
}  // namespace samegrad
