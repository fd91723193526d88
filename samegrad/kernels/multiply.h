// Matrix products.
#pragma once

#include <cstdint>

namespace samegrad {

/// A matrix where it lies: element (i, j) is values[i * row_stride + j * column_stride].
template <typename Element>
struct MatrixView {
  const Element* values;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// c [rows, columns], row after row, = a [rows, depth] times b [depth, columns], plus `bias` [columns] to each row
/// where it is not null. c must not overlap the others.
///
/// An element's terms are added in the order of depth, in runs of kMultiplyDepth that are added one after another, the
/// bias to the first; with a fused multiply-add where the instructions have one (avx2 and avx512 have the same bits,
/// portable has others). So its bits depend on its row of a and its column of b alone: not on the number of rows or
/// columns, nor on where the matrices lie. Local.
void multiply(const MatrixView<float>& a, const MatrixView<float>& b, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const float* bias, float* c);
/// In double by plain loops.
void multiply(const MatrixView<double>& a, const MatrixView<double>& b, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const double* bias, double* c);

inline constexpr std::int64_t kMultiplyDepth = 256;
/// Columns of b that are worked on together, and rows of a, which stay in the second cache.
inline constexpr std::int64_t kMultiplyColumns = 512;
inline constexpr std::int64_t kMultiplyRows = 192;
/// Floats of `packed` of the kernel: of b, then of a.
inline constexpr std::int64_t kMultiplyPacked = kMultiplyDepth * (kMultiplyColumns + kMultiplyRows);

}  // namespace samegrad
