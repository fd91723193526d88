// A block of attention's weights, some rows against some keys of one sample and head, and what forward and backward do
// alike with it.
//
// For kernel files only (isa.h): everything here is of the file that includes it.
#pragma once

#include <cstddef>

#include "samegrad/kernels/attention.h"
#include "samegrad/kernels/panel.h"

namespace samegrad::SAMEGRAD_ISA {

void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, float* values);
void keyed_mask(const KeyedMask& mask, std::int64_t first, std::int64_t count, double* values);

static constexpr double kLog2E = 1.4426950408889634074;

/// One sample and head.
struct HeadOfSample {
  std::int64_t first_token;
  std::int64_t length;
  std::int64_t head;
  std::int64_t first_weight;  ///< the number of the mask's element at row 0, column 0
};

struct WeightBlock {
  std::int64_t row;  ///< of the sample
  std::int64_t rows;
  std::int64_t key;  ///< of the sample; with `causal` not after `row`
  std::int64_t keys;
  bool causal;

  /// Keys of this block that row `r` of it sees.
  [[gnu::always_inline]] std::int64_t seen(std::int64_t r) const {
    return causal ? at_most(keys, row + r + 1 - key) : keys;
  }
  /// The most keys that a row sees of the tile in which `r` lies: as far the tile is computed.
  [[gnu::always_inline]] std::int64_t seen_by_tile(std::int64_t r) const {
    return seen(at_most(r / kTileRows * kTileRows + kTileRows, rows) - 1);
  }
};

/// Calls `act` with each sample and head.
template <typename Act>
[[gnu::always_inline]] static inline void for_each_head(const PackedShape& shape, const Act& act) {
  std::int64_t first_weight = 0;
  for (std::int64_t s = 0; s < shape.samples; ++s) {
    const std::int64_t length = shape.offsets[s + 1] - shape.offsets[s];
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      act(HeadOfSample{shape.offsets[s], length, head, first_weight});
      first_weight += length * length;
    }
  }
}

/// The next `rows` x `columns` of scratch memory, which is moved on.
template <typename Element>
[[gnu::always_inline]] static inline Panel<Element> take_panel(Element*& scratch, std::int64_t rows,
                                                               std::int64_t columns) {
  const Panel<Element> panel{scratch, rows};
  scratch += round_up(rows * chunks_of<Element>(columns) * kWidth<Element>, 16);
  return panel;
}

template <typename Element>
[[gnu::always_inline]] static inline void fill_zero(Element* values, std::int64_t count) {
  __builtin_memset(values, 0, static_cast<std::size_t>(count) * sizeof(Element));
}

/// The panel from `row` on.
template <typename Element>
[[gnu::always_inline]] static inline Panel<Element> from_row(Panel<Element> panel, std::int64_t row) {
  return {panel.at(0, row), panel.rows};
}

/// out = rows of left x columns of right, which are the block's keys, as far as they are seen.
template <typename Element>
[[gnu::always_inline]] static inline void multiply_seen(const WeightBlock& block, Panel<Element> left,
                                                        Panel<Element> right, std::int64_t depth, Panel<Element> out) {
  const std::int64_t rows = round_up(block.rows, kRowGroup);
  for (std::int64_t r = 0; r < rows;) {
    const std::int64_t chunks = chunks_of<Element>(block.seen_by_tile(r));
    r = multiply(left, right, out, r, rows, chunks, depth, /*add=*/false);
  }
}

/// out = (or, where `add`, +=) the weights that are seen x rows of right, which are the block's keys.
template <typename Element>
[[gnu::always_inline]] static inline void multiply_weights(const WeightBlock& block, Panel<Element> weights,
                                                           Panel<Element> right, std::int64_t chunks,
                                                           Panel<Element> out, bool add) {
  const std::int64_t rows = round_up(block.rows, kRowGroup);
  for (std::int64_t r = 0; r < rows;) {
    r = multiply(weights, right, out, r, rows, chunks, block.seen_by_tile(r), add);
  }
}

/// Where chunk `chunk` of a row's columns is among the first `seen`: all bits set, else none.
template <typename Element>
[[gnu::always_inline]] static inline RegisterBits<Element> seen_places(std::int64_t seen, std::int64_t chunk) {
  using Bit = typename RegisterOf<Element>::Bit;
  return places<Element>() < RegisterBits<Element>{} + static_cast<Bit>(seen - chunk * kWidth<Element>);
}

template <typename Element>
[[gnu::always_inline]] static inline Register<Element> larger(Register<Element> a, Register<Element> b) {
  return a > b ? a : b;
}

/// Element i of the result: the sum of row i's elements. Spoils rows.
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> sums_of_rows(Register<Element> (&rows)[kWidth<Element>]) {
  transpose_square<Element>(rows);
#pragma GCC unroll 4
  for (int stride = kWidth<Element> / 2; stride > 0; stride /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < stride; ++i) rows[i] += rows[i + stride];
  }
  return rows[0];
}

/// Element i of the result: the largest of row i's elements. Spoils rows.
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> largest_of_rows(Register<Element> (&rows)[kWidth<Element>]) {
  transpose_square<Element>(rows);
#pragma GCC unroll 4
  for (int stride = kWidth<Element> / 2; stride > 0; stride /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < stride; ++i) rows[i] = larger<Element>(rows[i], rows[i + stride]);
  }
  return rows[0];
}

/// The mask of the keys that row `r` of the block sees.
template <typename Element>
[[gnu::always_inline]] static inline void mask_of_row(const KeyedMask& dropout, const HeadOfSample& head,
                                                      const WeightBlock& block, std::int64_t r, Element* values) {
  SAMEGRAD_ISA::keyed_mask(dropout, head.first_weight + (block.row + r) * head.length + block.key, block.seen(r),
                           values);
}

}  // namespace samegrad::SAMEGRAD_ISA
