// A tile of c stays in registers while the depth goes by: kTileRows rows of a, one value at a time, against two
// registers of a row of b, whose columns are packed side by side first (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", TOMS 2008). Compiled with contraction: each term is one fused multiply-add.
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
constexpr std::int64_t kRowsTogether = 192;  // of a, which stay in the second cache

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

template <int kRows>
void tile(const TilePlace& place) {
  Register sums[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Register{};
  const float* a = place.a;
  const float* b = place.b;
  const std::int64_t row_stride = place.row_stride;
  const std::int64_t depth_stride = place.depth_stride;
  for (std::int64_t p = 0; p < place.depth; ++p) {
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
Tile* const kTiles[] = {nullptr, tile<1>, tile<2>, tile<3>,  tile<4>,  tile<5>, tile<6>,
#if defined(__AVX512F__)
                        tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>
#endif
};

/// A tile that sticks out to the right: worked on in full, beside c.
void edge_tile(TilePlace place, std::int64_t rows, std::int64_t columns) {
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
  kTiles[rows](place);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) c[i * c_stride + j] = whole[i * kTileColumns + j];
  }
}

/// Rows p..p+3 of a panel from columns that lie one after another, four by four.
[[gnu::always_inline]] inline void pack_four(const float* from, std::int64_t column_stride, float* to) {
  for (int j = 0; j < kTileColumns; j += 4) {
    const float* const at = from + j * column_stride;
    const auto a = load_as<Four>(at);
    const auto b = load_as<Four>(at + column_stride);
    const auto c = load_as<Four>(at + 2 * column_stride);
    const auto d = load_as<Four>(at + 3 * column_stride);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_as<Four>(to + j, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store_as<Four>(to + kTileColumns + j, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store_as<Four>(to + 2 * kTileColumns + j, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_as<Four>(to + 3 * kTileColumns + j, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
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

}  // namespace

void multiply(const MatrixView<float>& left, const MatrixView<float>& right, std::int64_t rows, std::int64_t columns,
              std::int64_t depth, const float* bias, float* c, float* packed) {
  const MatrixView<float> nothing{};  // in place of matrices without elements: their pointers may be null
  const MatrixView<float>& a = depth > 0 ? left : nothing;
  const MatrixView<float>& b = depth > 0 ? right : nothing;
  for (std::int64_t j0 = 0; j0 < columns; j0 += kMultiplyColumns) {
    const std::int64_t wide = columns - j0 < kMultiplyColumns ? columns - j0 : kMultiplyColumns;
    std::int64_t p0 = 0;
    do {  // once without depth, too: then c is the bias
      const std::int64_t deep = depth - p0 < kMultiplyDepth ? depth - p0 : kMultiplyDepth;
      pack({b.values + p0 * b.row_stride + j0 * b.column_stride, b.row_stride, b.column_stride}, deep, wide, packed);
      for (std::int64_t i0 = 0; i0 < rows; i0 += kRowsTogether) {
        const std::int64_t end = rows - i0 < kRowsTogether ? rows : i0 + kRowsTogether;
        for (std::int64_t j = 0; j < wide; j += kTileColumns) {
          for (std::int64_t i = i0; i < end; i += kTileRows) {
            const std::int64_t high = end - i < kTileRows ? end - i : kTileRows;
            const TilePlace place{.a = a.values + i * a.row_stride + p0 * a.column_stride,
                                  .row_stride = a.row_stride,
                                  .depth_stride = a.column_stride,
                                  .b = packed + j * deep,
                                  .depth = deep,
                                  .c = c + i * columns + j0 + j,
                                  .c_stride = columns,
                                  .bias = bias == nullptr ? nullptr : bias + j0 + j,
                                  .add = p0 > 0};
            if (wide - j < kTileColumns) {
              edge_tile(place, high, wide - j);
            } else {
              kTiles[high](place);
            }
          }
        }
      }
      p0 += deep;
    } while (p0 < depth);
  }
}

}  // namespace samegrad::SAMEGRAD_ISA
