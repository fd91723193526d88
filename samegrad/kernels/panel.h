// Products of small matrices that lie in columns of registers, for kernels that keep their operands in the caches.
//
// For kernel files only (isa.h): everything here is of the file that includes it.
#pragma once

#include "samegrad/kernels/registers.h"

namespace samegrad::SAMEGRAD_ISA {

/// A matrix cut into chunks of columns, each as wide as a register: a chunk's rows lie one after another.
template <typename Element>
struct Panel {
  Element* values;
  std::int64_t rows;

  [[gnu::always_inline]] Element* at(std::int64_t chunk, std::int64_t row) const {
    return values + (chunk * rows + row) * kWidth<Element>;
  }
};

/// The tile of a product that stays in registers: rows, and chunks of columns. AVX-512 has 32 registers, the others 16.
static constexpr int kTileRows = kRegisterBytes == 64 ? 8 : 4;
static constexpr int kTileChunks = 2;
/// Rows are computed in groups of so many: what lies after the last one must be readable.
static constexpr int kRowGroup = 4;

[[gnu::always_inline]] static inline std::int64_t round_up(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}
[[gnu::always_inline]] static inline std::int64_t at_most(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Chunks that hold `columns` columns.
template <typename Element>
[[gnu::always_inline]] static inline std::int64_t chunks_of(std::int64_t columns) {
  return (columns + kWidth<Element> - 1) / kWidth<Element>;
}

template <typename Element, int kRows, int kChunks>
struct Tile {
  Register<Element> sums[kRows][kChunks];
};

/// tile += left x right over `depth` terms. Term k takes row r of left from left[k * left_step + r * left_row].
template <typename Element, int kRows, int kChunks, std::int64_t kLeftStep, std::int64_t kLeftRow>
[[gnu::always_inline]] static inline void add_terms(Tile<Element, kRows, kChunks>& tile, const Element* left,
                                                    const Element* right, std::int64_t right_chunk,
                                                    std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; ++k) {
    Register<Element> columns[kChunks];
#pragma GCC unroll 2
    for (int c = 0; c < kChunks; ++c) columns[c] = load_register(right + c * right_chunk);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Register<Element> value = every(left[r * kLeftRow]);
#pragma GCC unroll 2
      for (int c = 0; c < kChunks; ++c) tile.sums[r][c] += value * columns[c];
    }
    left += kLeftStep;
    right += kWidth<Element>;
  }
}

/// `from` is the tile's first row and chunk, in a panel whose chunks are `chunk_step` elements apart.
template <typename Element, int kRows, int kChunks>
[[gnu::always_inline]] static inline void load_tile(Tile<Element, kRows, kChunks>& tile, const Element* from,
                                                    std::int64_t chunk_step) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kChunks; ++c) {
      tile.sums[r][c] = load_register(from + c * chunk_step + r * kWidth<Element>);
    }
  }
}

template <typename Element, int kRows, int kChunks>
[[gnu::always_inline]] static inline void store_tile(const Tile<Element, kRows, kChunks>& tile, Element* to,
                                                     std::int64_t chunk_step) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kChunks; ++c) store_register(to + c * chunk_step + r * kWidth<Element>, tile.sums[r][c]);
  }
}

/// One tile of out = left x right, or out += left x right where `add`.
template <typename Element, int kRows, int kChunks>
static void multiply_tile(Panel<Element> left, Panel<Element> right, Panel<Element> out, std::int64_t row,
                          std::int64_t chunk, std::int64_t depth, bool add) {
  constexpr int kSide = kWidth<Element>;
  Element* const result = out.at(chunk, row);
  Tile<Element, kRows, kChunks> tile{};
  if (add) load_tile(tile, result, out.rows * kSide);
  for (std::int64_t k = 0; k < depth; k += kSide) {
    add_terms<Element, kRows, kChunks, 1, kSide>(tile, left.at(k / kSide, row), right.at(chunk, k), right.rows * kSide,
                                                 at_most(kSide, depth - k));
  }
  store_tile(tile, result, out.rows * kSide);
}

template <typename Element, int kRows>
[[gnu::always_inline]] static inline void multiply_rows(Panel<Element> left, Panel<Element> right, Panel<Element> out,
                                                        std::int64_t row, std::int64_t chunks, std::int64_t depth,
                                                        bool add) {
  std::int64_t chunk = 0;
  for (; chunk + kTileChunks <= chunks; chunk += kTileChunks) {
    multiply_tile<Element, kRows, kTileChunks>(left, right, out, row, chunk, depth, add);
  }
  if (chunk < chunks) multiply_tile<Element, kRows, 1>(left, right, out, row, chunk, depth, add);
}

/// The rows from `row` on, kTileRows of them or kRowGroup where only that many are left of `rows`, of left x right:
/// `chunks` chunks of columns, `depth` columns of left. Returns the first row after them.
template <typename Element>
static std::int64_t multiply(Panel<Element> left, Panel<Element> right, Panel<Element> out, std::int64_t row,
                             std::int64_t rows, std::int64_t chunks, std::int64_t depth, bool add) {
  if (rows - row > kTileRows - kRowGroup) {
    multiply_rows<Element, kTileRows>(left, right, out, row, chunks, depth, add);
    return row + kTileRows;
  }
  multiply_rows<Element, kRowGroup>(left, right, out, row, chunks, depth, add);
  return row + kRowGroup;
}

/// One tile of out += left' x right, summed over the rows first .. last - 1 of both.
template <typename Element, int kRows, int kChunks>
static void add_transposed_tile(Panel<Element> left, Panel<Element> right, Panel<Element> out, std::int64_t out_row,
                                std::int64_t left_column, std::int64_t chunk, std::int64_t first, std::int64_t last) {
  constexpr int kSide = kWidth<Element>;
  Element* const result = out.at(chunk, out_row);
  Tile<Element, kRows, kChunks> tile;
  load_tile(tile, result, out.rows * kSide);
  add_terms<Element, kRows, kChunks, kSide, 1>(tile, left.at(left_column / kSide, first) + left_column % kSide,
                                               right.at(chunk, first), right.rows * kSide, last - first);
  store_tile(tile, result, out.rows * kSide);
}

/// Rows of one tile of a transposed product: they lie in one register.
template <typename Element>
static constexpr int kTransposedRows = kTileRows < kWidth<Element> ? kTileRows : kWidth<Element>;

/// The kTransposedRows rows of out from out_row on += those columns of left from left_column on, transposed, x right.
template <typename Element>
static void add_transposed(Panel<Element> left, Panel<Element> right, Panel<Element> out, std::int64_t out_row,
                           std::int64_t left_column, std::int64_t chunks, std::int64_t first, std::int64_t last) {
  constexpr int kRows = kTransposedRows<Element>;
  std::int64_t chunk = 0;
  for (; chunk + kTileChunks <= chunks; chunk += kTileChunks) {
    add_transposed_tile<Element, kRows, kTileChunks>(left, right, out, out_row, left_column, chunk, first, last);
  }
  if (chunk < chunks) {
    add_transposed_tile<Element, kRows, 1>(left, right, out, out_row, left_column, chunk, first, last);
  }
}

/// Rows of plain memory, `step` elements from one to the next, times `factor`, into a panel; zeros up to `padded` rows.
template <typename Element>
static void pack_rows(const Element* from, std::int64_t step, std::int64_t rows, std::int64_t padded,
                      std::int64_t columns, Element factor, Panel<Element> to) {
  for (std::int64_t chunk = 0; chunk < chunks_of<Element>(columns); ++chunk) {
    const std::int64_t count = columns - chunk * kWidth<Element>;
    const Element* source = from + chunk * kWidth<Element>;
    std::int64_t row = 0;
    for (; row < rows; ++row) store_register(to.at(chunk, row), load_first(source + row * step, count) * factor);
    for (; row < padded; ++row) store_register(to.at(chunk, row), Register<Element>{});
  }
}

/// The rows become columns: `to` has a row for each of `columns`. Its columns after the last row, up to a whole chunk,
/// repeat that row.
template <typename Element>
static void pack_transposed(const Element* from, std::int64_t step, std::int64_t rows, std::int64_t columns,
                            Panel<Element> to) {
  constexpr int kSide = kWidth<Element>;
  for (std::int64_t row = 0; row < rows; row += kSide) {
    const std::int64_t present = at_most(kSide, rows - row);
    for (std::int64_t column = 0; column < columns; column += kSide) {
      Register<Element> square[kSide];
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) {
        square[i] = load_first(from + (row + at_most(i, present - 1)) * step + column, columns - column);
      }
      transpose_square<Element>(square);
      const std::int64_t count = at_most(kSide, columns - column);
      for (std::int64_t i = 0; i < count; ++i) store_register(to.at(row / kSide, column + i), square[i]);
    }
  }
}

/// Columns of a panel's rows, each row times `factor`, into plain memory.
template <typename Element>
static void unpack_rows(Panel<Element> from, std::int64_t rows, std::int64_t columns, Element factor, Element* to,
                        std::int64_t step) {
  for (std::int64_t chunk = 0; chunk < chunks_of<Element>(columns); ++chunk) {
    const std::int64_t count = columns - chunk * kWidth<Element>;
    for (std::int64_t row = 0; row < rows; ++row) {
      store_first(to + row * step + chunk * kWidth<Element>, load_register(from.at(chunk, row)) * factor, count);
    }
  }
}

}  // namespace samegrad::SAMEGRAD_ISA
