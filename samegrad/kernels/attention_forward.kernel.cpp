// Block after block of keys, with the largest score so far (Milakov and Gimelshein 2018; Dao et al. 2022).
#include "samegrad/kernels/attention_block.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

/// What is known of a block's rows after some keys.
template <typename Element>
struct RowState {
  Element largest[kAttentionBlockRows];
  Element sum[kAttentionBlockRows];
  Element factor[kAttentionBlockRows];  ///< by which what was summed up before these keys shrinks
};

/// Row r's scores are -infinity where they are not seen, up to the end of its tile. Returns the largest of each column.
template <typename Element>
[[gnu::always_inline]] inline Register<Element> mask_scores(const WeightBlock& block, std::int64_t r,
                                                            Panel<Element> scores) {
  const Register<Element> lowest = every(-static_cast<Element>(__builtin_inf()));
  const std::int64_t seen = block.seen(r);
  const std::int64_t chunks = chunks_of<Element>(block.seen_by_tile(r));
  Register<Element> largest = lowest;
  std::int64_t c = 0;
  for (; (c + 1) * kWidth<Element> <= seen; ++c) largest = larger<Element>(load_register(scores.at(c, r)), largest);
  for (; c < chunks; ++c) {
    Register<Element> masked = load_register(scores.at(c, r));
    masked = seen_places<Element>(seen, c) ? masked : lowest;
    store_register(scores.at(c, r), masked);
    largest = larger<Element>(masked, largest);
  }
  return largest;
}

/// Scores become weights, not yet divided by their sum and with dropout after it.
template <typename Element>
void weights_of_scores(const HeadOfSample& head, const WeightBlock& block, const KeyedMask* dropout,
                       Panel<Element> scores, Element* mask, RowState<Element>& state) {
  constexpr int kSide = kWidth<Element>;
  const bool first = block.key == 0;
  for (std::int64_t group = 0; group < block.rows; group += kSide) {
    const std::int64_t count = at_most(kSide, block.rows - group);
    Register<Element> parts[kSide] = {};
    for (std::int64_t i = 0; i < count; ++i) parts[i] = mask_scores(block, group + i, scores);
    Register<Element> largest = largest_of_rows<Element>(parts);
    Register<Element> factor{};
    if (!first) {
      const Register<Element> before = load_register(state.largest + group);
      largest = larger<Element>(before, largest);
      factor = exp2_register<Element>(before - largest);
    }
    store_register(state.largest + group, largest);
    store_register(state.factor + group, factor);
    for (int i = 0; i < kSide; ++i) parts[i] = Register<Element>{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t r = group + i;
      const std::int64_t chunks = chunks_of<Element>(block.seen_by_tile(r));
      const Register<Element> subtracted = every(state.largest[r]);
      if (dropout != nullptr) mask_of_row(*dropout, head, block, r, mask);
      Register<Element> sum{};
      for (std::int64_t c = 0; c < chunks; ++c) {
        Register<Element> weight = exp2_register<Element>(load_register(scores.at(c, r)) - subtracted);
        sum += weight;
        if (dropout != nullptr) weight *= load_register(mask + c * kSide);
        store_register(scores.at(c, r), weight);
      }
      parts[i] = sum;
    }
    Register<Element> sum = sums_of_rows<Element>(parts);
    if (!first) sum += load_register(state.sum + group) * factor;
    store_register(state.sum + group, sum);
  }
}

template <typename Element>
void forward(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, Element* mixed,
             Element* statistics, Element* scratch) {
  const std::int64_t width = shape.head_width;
  const std::int64_t step = 3 * shape.heads * width;
  const std::int64_t mixed_step = shape.heads * width;
  const std::int64_t chunks = chunks_of<Element>(width);
  const auto scale = static_cast<Element>(kLog2E / __builtin_sqrt(static_cast<double>(width)));
  for_each_head(shape, [&](const HeadOfSample& head) {
    Element* free = scratch;
    Panel<Element> keys = take_panel(free, width, head.length);
    Panel<Element> values = take_panel(free, head.length, width);
    Panel<Element> queries = take_panel(free, kAttentionBlockRows, width);
    Panel<Element> scores = take_panel(free, kAttentionBlockRows, kAttentionBlockKeys);
    Panel<Element> sums = take_panel(free, kAttentionBlockRows, width);
    fill_zero(free, kAttentionBlockKeys + kWidth<Element>);  // a mask has factors of no weight after its end
    const Element* of_head = qkv + head.first_token * step + head.head * width;
    pack_transposed(of_head + mixed_step, step, head.length, width, keys);
    pack_rows(of_head + 2 * mixed_step, step, head.length, head.length, width, Element{1}, values);
    for (std::int64_t row = 0; row < head.length; row += kAttentionBlockRows) {
      const std::int64_t rows = at_most(kAttentionBlockRows, head.length - row);
      pack_rows(of_head + row * step, step, rows, round_up(rows, kRowGroup), width, scale, queries);
      RowState<Element> state;
      const std::int64_t seen = shape.causal ? row + rows : head.length;
      for (std::int64_t key = 0; key < seen; key += kAttentionBlockKeys) {
        const WeightBlock block{row, rows, key, at_most(kAttentionBlockKeys, seen - key), shape.causal};
        multiply_seen(block, queries, {keys.at(key / kWidth<Element>, 0), keys.rows}, width, scores);
        weights_of_scores(head, block, dropout, scores, free, state);
        for (std::int64_t r = 0; key > 0 && r < rows; ++r) {
          for (std::int64_t c = 0; c < chunks; ++c) {
            store_register(sums.at(c, r), load_register(sums.at(c, r)) * state.factor[r]);
          }
        }
        multiply_weights(block, scores, from_row(values, key), chunks, sums, /*add=*/key > 0);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t token = head.first_token + row + r;
        const Element inverse = Element{1} / state.sum[r];
        unpack_rows(Panel<Element>{sums.at(0, r), sums.rows}, 1, width, inverse,
                    mixed + token * mixed_step + head.head * width, mixed_step);
        statistics[(token * shape.heads + head.head) * 2] = state.largest[r];
        statistics[(token * shape.heads + head.head) * 2 + 1] = inverse;
      }
    }
  });
}

}  // namespace

void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, float* mixed,
                       float* statistics, float* scratch) {
  forward(shape, dropout, qkv, mixed, statistics, scratch);
}

void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, double* mixed,
                       double* statistics, double* scratch) {
  forward(shape, dropout, qkv, mixed, statistics, scratch);
}

}  // namespace samegrad::SAMEGRAD_ISA
