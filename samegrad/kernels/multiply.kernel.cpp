// A tile of c stays in registers while the depth goes by: kTileRows rows of a, one value at a time, against two
// registers of a row of b, whose columns are packed side by side first, as a's rows are where it pays (Goto and van de
// Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008). Compiled with contraction: each term is one
// fused multiply-add.
#include "samegrad/kernels/multiply.h"

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
constexpr int kTileRows = 12;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
constexpr int kTileRows = 6;
#else
constexpr int kRegisterBytes = 16;
constexpr int kTileRows = 6;
#endif
using Register [[gnu::vector_size(kRegisterBytes)]] = float;
using Four [[gnu::vector_size(16)]] = float;
constexpr int kWide = kRegisterBytes / 4;
constexpr std::int64_t kTileColumns = std::int64_t{2} * kWide;

template <typename Value>
[[gnu::always_inline]] inline Value load_as(const float* from) {
  Value value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <typename Value>
[[gnu::always_inline]] inline void store_as(float* to, Value value) {
  __builtin_memcpy(to, &value, sizeof value);
}

/// Where a tile begins, and to what its sums are added: to what c holds (`add`), else to `bias`, else to nothing.
struct TilePlace {
  const float* a;
  std::int64_t row_stride;
  std::int64_t depth_stride;
  const float* b;  // packed
  std::int64_t depth;
  float* c;
  std::int64_t c_stride;
  const float* bias;
  bool add;
};

/// `kPacked`: a's rows are packed, so that their places need no registers.
template <int kRows, bool kPacked>
void tile(const TilePlace& place) {
  Register sums[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Register{};
  const float* a = place.a;
  const float* b = place.b;
  const std::int64_t row_stride = kPacked ? 1 : place.row_stride;
  const std::int64_t depth_stride = kPacked ? kTileRows : place.depth_stride;
  // Where the next tile's sums go is on its way from memory while these are made: line by line, for only so many misses
  // wait at a time, and behind them waits what a and b have to get from the second cache.
  constexpr std::int64_t kLine = 16;
  constexpr std::int64_t kLinesOfRow = kTileColumns > kLine ? kTileColumns / kLine : 1;
  const std::int64_t steps_a_line = place.depth / (kRows * kLinesOfRow) + 1;
  const float* next_row = place.c + kRows * place.c_stride;
  std::int64_t line = 0;
  for (std::int64_t p = 0; p < place.depth;) {
    __builtin_prefetch(next_row + line * kLine, /*rw=*/1);
    if (++line == kLinesOfRow) {
      line = 0;
      next_row += place.c_stride;
    }
    const std::int64_t stop = place.depth - p < steps_a_line ? place.depth : p + steps_a_line;
    for (; p < stop; ++p) {
      const auto left = load_as<Register>(b);
      const auto right = load_as<Register>(b + kWide);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const float factor = a[i * row_stride];
        sums[i][0] += factor * left;
        sums[i][1] += factor * right;
      }
      a += depth_stride;
      b += kTileColumns;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    float* const to = place.c + i * place.c_stride;
    const float* const from = place.add ? to : place.bias;
    if (from != nullptr) {
      sums[i][0] += load_as<Register>(from);
      sums[i][1] += load_as<Register>(from + kWide);
    }
    store_as(to, sums[i][0]);
    store_as(to + kWide, sums[i][1]);
  }
}

using Tile = void(const TilePlace& place);

/// By their number of rows.
template <bool kPacked>
Tile* const kTiles[] = {nullptr,           tile<1, kPacked>, tile<2, kPacked>, tile<3, kPacked>,
                        tile<4, kPacked>,  tile<5, kPacked>, tile<6, kPacked>,
#if defined(__AVX512F__)
                        tile<7, kPacked>,  tile<8, kPacked>, tile<9, kPacked>, tile<10, kPacked>,
                        tile<11, kPacked>, tile<12, kPacked>
#endif
};

/// A tile that sticks out to the right: worked on in full, beside c.
void edge_tile(Tile* const whole_tile, TilePlace place, std::int64_t rows, std::int64_t columns) {
  float whole[kTileRows * kTileColumns] = {};
  float bias[kTileColumns] = {};
  float* const c = place.c;
  for (std::int64_t j = 0; j < columns; ++j) {
    if (place.bias != nullptr) bias[j] = place.bias[j];
    for (std::int64_t i = 0; i < rows && place.add; ++i) whole[i * kTileColumns + j] = c[i * place.c_stride + j];
  }
  const std::int64_t c_stride = place.c_stride;
  if (place.bias != nullptr) place.bias = bias;
  place.c = whole;
  place.c_stride = kTileColumns;
  whole_tile(place);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) c[i * c_stride + j] = whole[i * kTileColumns + j];
  }
}

/// The 4 x 4 values of four rows as their columns.
[[gnu::always_inline]] inline void transpose_four(const float* from, std::int64_t row_stride, Four (&columns)[4]) {
  const auto a = load_as<Four>(from);
  const auto b = load_as<Four>(from + row_stride);
  const auto c = load_as<Four>(from + 2 * row_stride);
  const auto d = load_as<Four>(from + 3 * row_stride);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  columns[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  columns[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  columns[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  columns[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/// Rows p..p+3 of a panel from columns that lie one after another, four by four.
[[gnu::always_inline]] inline void pack_four(const float* from, std::int64_t column_stride, float* to) {
  for (int j = 0; j < kTileColumns; j += 4) {
    Four rows[4];
    transpose_four(from + j * column_stride, column_stride, rows);
    for (int p = 0; p < 4; ++p) store_as(to + p * kTileColumns + j, rows[p]);
  }
}

/// Panels whose rows lie in one piece: row after row of b, as memory likes to be read.
void pack_rows(const MatrixView<float>& b, std::int64_t depth, std::int64_t panels, float* to) {
  for (std::int64_t p = 0; p < depth; ++p) {
    const float* const from = b.values + p * b.row_stride;
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      float* const row = to + (panel * depth + p) * kTileColumns;
      store_as(row, load_as<Register>(from + panel * kTileColumns));
      store_as(row + kWide, load_as<Register>(from + panel * kTileColumns + kWide));
    }
  }
}

/// b as panels of kTileColumns columns, each row after row; the last is filled up with zeros.
void pack(const MatrixView<float>& b, std::int64_t depth, std::int64_t columns, float* to) {
  const std::int64_t whole = columns / kTileColumns;
  if (b.column_stride == 1) pack_rows(b, depth, whole, to);
  for (std::int64_t panel = b.column_stride == 1 ? whole : 0; panel * kTileColumns < columns; ++panel) {
    const float* const from = b.values + panel * kTileColumns * b.column_stride;
    const std::int64_t width = panel < whole ? kTileColumns : columns - whole * kTileColumns;
    float* row = to + panel * depth * kTileColumns;
    std::int64_t p = 0;
    if (b.row_stride == 1 && width == kTileColumns) {
      for (; p + 4 <= depth; p += 4, row += 4 * kTileColumns) pack_four(from + p, b.column_stride, row);
    }
    for (; p < depth; ++p, row += kTileColumns) {
      for (std::int64_t j = 0; j < kTileColumns; ++j) {
        row[j] = j < width ? from[p * b.row_stride + j * b.column_stride] : 0.0F;
      }
    }
  }
}

/// Columns p..p+3 of a whole panel of a, whose rows lie in one piece each.
[[gnu::always_inline]] inline void pack_tile_rows(const float* from, std::int64_t row_stride, float* to) {
  constexpr int kGroups = kTileRows / 4;
  constexpr int kRest = kTileRows % 4;
  static_assert(kRest == 0 || kRest == 2);
  Four groups[kGroups + 1][4];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) transpose_four(from + 4 * g * row_stride, row_stride, groups[g]);
  if constexpr (kRest > 0) transpose_four(from + (kTileRows - 4) * row_stride, row_stride, groups[kGroups]);
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p, to += kTileRows) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) store_as(to + 4 * g, groups[g][p]);
    if constexpr (kRest > 0) store_as(to + kTileRows - 4, groups[kGroups][p]);
  }
}

/// A packed a is read in one stream, again for each panel of b. Where those are few, it pays only for columns of a that
/// lie in one piece each and far apart, which else share the first cache's few places for memory of such a distance.
bool pays_to_pack(const MatrixView<float>& a, std::int64_t columns) {
  constexpr std::int64_t kMany = 256;
  return columns >= kMany || (a.row_stride == 1 && a.column_stride >= kMany);
}

/// a as panels of kTileRows rows, each column after column; in the last, rows that a does not have are left as they
/// are.
void pack_left(const MatrixView<float>& a, std::int64_t rows, std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < rows; i += kTileRows, to += depth * kTileRows) {
    const float* const from = a.values + i * a.row_stride;
    const std::int64_t high = rows - i < kTileRows ? rows - i : kTileRows;
    std::int64_t p = 0;
    if (a.column_stride == 1 && high == kTileRows) {
      for (; p + 4 <= depth; p += 4) pack_tile_rows(from + p, a.row_stride, to + p * kTileRows);
    } else if (a.row_stride == 1 && high == kTileRows) {
      for (; p < depth; ++p) {
        __builtin_memcpy(to + p * kTileRows, from + p * a.column_stride, kTileRows * sizeof(float));
      }
    }
    for (; p < depth; ++p) {
      for (std::int64_t r = 0; r < high; ++r) to[p * kTileRows + r] = from[r * a.row_stride + p * a.column_stride];
    }
  }
}

}  // namespace

void multiply(const MatrixView<float>& left, const MatrixView<float>& right, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const float* bias, float* c, float* packed) {
  const MatrixView<float> nothing{};  // in place of matrices without elements: their pointers may be null
  const MatrixView<float>& a = depth > 0 ? left : nothing;
  const MatrixView<float>& b = depth > 0 ? right : nothing;
  const bool packs_a = pays_to_pack(a, columns);
  float* const packed_left = packed + kMultiplyDepth * kMultiplyColumns;
  for (std::int64_t j0 = 0; j0 < columns; j0 += kMultiplyColumns) {
    const std::int64_t wide = columns - j0 < kMultiplyColumns ? columns - j0 : kMultiplyColumns;
    std::int64_t p0 = 0;
    do {  // once without depth, too: then c is the bias
      const std::int64_t deep = depth - p0 < kMultiplyDepth ? depth - p0 : kMultiplyDepth;
      pack({b.values + p0 * b.row_stride + j0 * b.column_stride, b.row_stride, b.column_stride}, deep, wide, packed);
      for (std::int64_t i0 = 0; i0 < rows; i0 += kMultiplyRows) {
        const std::int64_t end = rows - i0 < kMultiplyRows ? rows : i0 + kMultiplyRows;
        const MatrixView<float> block{a.values + i0 * a.row_stride + p0 * a.column_stride, a.row_stride,
                                      a.column_stride};
        if (packs_a) pack_left(block, end - i0, deep, packed_left);
        for (std::int64_t j = 0; j < wide; j += kTileColumns) {
          for (std::int64_t i = i0; i < end; i += kTileRows) {
            const std::int64_t high = end - i < kTileRows ? end - i : kTileRows;
            const std::int64_t row = i - i0;
            const TilePlace place{.a = packs_a ? packed_left + row * deep : block.values + row * block.row_stride,
                                  .row_stride = packs_a ? 1 : block.row_stride,
                                  .depth_stride = packs_a ? kTileRows : block.column_stride,
                                  .b = packed + j * deep,
                                  .depth = deep,
                                  .c = c + i * columns + j0 + j,
                                  .c_stride = columns,
                                  .bias = bias == nullptr ? nullptr : bias + j0 + j,
                                  .add = p0 > 0};
            Tile* const whole_tile = packs_a ? kTiles<true>[high] : kTiles<false>[high];
            if (wide - j < kTileColumns) {
              edge_tile(whole_tile, place, high, wide - j);
            } else {
              whole_tile(place);
            }
          }
        }
      }
      p0 += deep;
    } while (p0 < depth);
  }
}

}  // namespace samegrad::SAMEGRAD_ISA
