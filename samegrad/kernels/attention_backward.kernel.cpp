// Weights are computed again from the rows' statistics. With P the weights, M dropout's mask and dO the gradient of the
// result: dV = (P M)' dO; dP = (dO V') M; dS = P (dP - D) with D = the row's sum of P dP, which is that of dO O;
// dQ = dS K and dK = dS' Q, both times the scale of the scores.
#include "samegrad/kernels/attention_block.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

/// Of a sample's rows.
template <typename Element>
struct RowStatistics {
  Element* largest;
  Element* inverse;
  Element* product;  ///< D
};

/// scores -> weights with dropout, products (dO V') -> dS; both 0 where a row does not see, up to its tile's end.
template <typename Element>
void gradients_of_scores(const HeadOfSample& head, const WeightBlock& block, const KeyedMask* dropout,
                         Panel<Element> scores, Panel<Element> products, Element* mask,
                         const RowStatistics<Element>& rows) {
  constexpr int kSide = kWidth<Element>;
  const Register<Element> zero{};
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.row + r;
    const std::int64_t seen = block.seen(r);
    const std::int64_t chunks = chunks_of<Element>(block.seen_by_tile(r));
    const Register<Element> largest = every(rows.largest[row]);
    const Register<Element> inverse = every(rows.inverse[row]);
    const Register<Element> product = every(rows.product[row]);
    if (dropout != nullptr) mask_of_row(*dropout, head, block, r, mask);
    for (std::int64_t c = 0; c < chunks; ++c) {
      Register<Element> weight = exp2_register<Element>(load_register(scores.at(c, r)) - largest) * inverse;
      Register<Element> gradient = load_register(products.at(c, r));
      Register<Element> dropped = weight;
      if (dropout != nullptr) {
        const Register<Element> factors = load_register(mask + c * kSide);
        gradient *= factors;
        dropped *= factors;
      }
      gradient = weight * (gradient - product);
      if ((c + 1) * kSide > seen) {
        const RegisterBits<Element> sees = seen_places<Element>(seen, c);
        dropped = sees ? dropped : zero;
        gradient = sees ? gradient : zero;
      }
      store_register(scores.at(c, r), dropped);
      store_register(products.at(c, r), gradient);
    }
  }
}

/// out's rows of the block's keys += left' x right, as far as they are seen.
template <typename Element>
void add_to_keys(const WeightBlock& block, Panel<Element> left, Panel<Element> right, std::int64_t chunks,
                 Panel<Element> out) {
  for (std::int64_t key = 0; key < block.keys; key += kTransposedRows<Element>) {
    const std::int64_t hidden = block.causal ? block.key + key - block.row : 0;  // rows that come before the key
    add_transposed(left, right, out, key, key, chunks, hidden > 0 ? hidden : 0, block.rows);
  }
}

/// D, and what forward left, of all rows of a sample and head. `gradients`: dO; mixed: O, whose rows are `step` apart.
template <typename Element>
void row_statistics(const PackedShape& shape, const HeadOfSample& head, Panel<Element> gradients, const Element* mixed,
                    std::int64_t step, const Element* statistics, const RowStatistics<Element>& rows) {
  constexpr int kSide = kWidth<Element>;
  for (std::int64_t group = 0; group < head.length; group += kSide) {
    Register<Element> parts[kSide] = {};
    for (std::int64_t i = 0; i < at_most(kSide, head.length - group); ++i) {
      const std::int64_t row = group + i;
      for (std::int64_t c = 0; c * kSide < shape.head_width; ++c) {
        parts[i] += load_register(gradients.at(c, row)) *
                    load_first(mixed + row * step + c * kSide, shape.head_width - c * kSide);
      }
      const Element* const left = statistics + ((head.first_token + row) * shape.heads + head.head) * 2;
      rows.largest[row] = left[0];
      rows.inverse[row] = left[1];
    }
    store_register(rows.product + group, sums_of_rows<Element>(parts));
  }
}

/// Keys stay where they are, in blocks, and all rows pass them: what passes is the smaller part of a block's operands.
template <typename Element>
void backward(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, const Element* mixed,
              const Element* statistics, const Element* gradient, Element* qkv_gradient, Element* scratch) {
  const std::int64_t width = shape.head_width;
  const std::int64_t mixed_step = shape.heads * width;
  const std::int64_t step = 3 * mixed_step;
  const std::int64_t chunks = chunks_of<Element>(width);
  const double scale = 1.0 / __builtin_sqrt(static_cast<double>(width));
  for_each_head(shape, [&](const HeadOfSample& head) {
    const std::int64_t length = head.length;
    const std::int64_t padded = round_up(length, 16);
    const std::int64_t most_keys = at_most(kAttentionBlockKeys, padded);
    Element* free = scratch;
    const Panel<Element> queries = take_panel(free, padded, width);
    const Panel<Element> gradients = take_panel(free, padded, width);
    const Panel<Element> query_gradient = take_panel(free, padded, width);
    const RowStatistics<Element> rows{free, free + padded, free + 2 * padded};
    free += 3 * padded;
    const Panel<Element> columns_k = take_panel(free, width, most_keys);
    const Panel<Element> columns_v = take_panel(free, width, most_keys);
    const Panel<Element> keys = take_panel(free, most_keys, width);
    const Panel<Element> key_gradient = take_panel(free, most_keys, width);
    const Panel<Element> value_gradient = take_panel(free, most_keys, width);
    const Panel<Element> scores = take_panel(free, kAttentionBlockRows, most_keys);
    const Panel<Element> products = take_panel(free, kAttentionBlockRows, most_keys);
    fill_zero(free, kAttentionBlockKeys + kWidth<Element>);  // a mask has factors of no weight after its end
    const std::int64_t place = head.first_token * mixed_step + head.head * width;
    const Element* const of_head = qkv + head.first_token * step + head.head * width;
    Element* const result = qkv_gradient + head.first_token * step + head.head * width;
    pack_rows(of_head, step, length, padded, width, static_cast<Element>(scale * kLog2E), queries);
    pack_rows(gradient + place, mixed_step, length, padded, width, Element{1}, gradients);
    row_statistics(shape, head, gradients, mixed + place, mixed_step, statistics, rows);
    for (std::int64_t key = 0; key < length; key += kAttentionBlockKeys) {
      const std::int64_t here = at_most(kAttentionBlockKeys, length - key);
      const Element* const of_keys = of_head + key * step + mixed_step;
      pack_transposed(of_keys, step, here, width, columns_k);
      pack_transposed(of_keys + mixed_step, step, here, width, columns_v);
      pack_rows(of_keys, step, here, here, width, Element{1}, keys);
      fill_zero(key_gradient.values, most_keys * chunks * kWidth<Element>);
      fill_zero(value_gradient.values, most_keys * chunks * kWidth<Element>);
      for (std::int64_t row = shape.causal ? key : 0; row < length; row += kAttentionBlockRows) {
        const std::int64_t count = at_most(kAttentionBlockRows, length - row);
        const std::int64_t seen = shape.causal ? at_most(here, row + count - key) : here;
        const WeightBlock block{row, count, key, seen, shape.causal};
        multiply_seen(block, from_row(queries, row), columns_k, width, scores);
        multiply_seen(block, from_row(gradients, row), columns_v, width, products);
        gradients_of_scores(head, block, dropout, scores, products, free, rows);
        add_to_keys(block, scores, from_row(gradients, row), chunks, value_gradient);
        add_to_keys(block, products, from_row(queries, row), chunks, key_gradient);
        multiply_weights(block, products, keys, chunks, from_row(query_gradient, row), /*add=*/key > 0);
      }
      // The queries that dS' met were scaled to powers of two.
      unpack_rows(key_gradient, here, width, static_cast<Element>(kLn2), result + key * step + mixed_step, step);
      unpack_rows(value_gradient, here, width, Element{1}, result + key * step + 2 * mixed_step, step);
    }
    unpack_rows(query_gradient, length, width, static_cast<Element>(scale), result, step);
  });
}

}  // namespace

void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, const float* mixed,
                        const float* statistics, const float* gradient, float* qkv_gradient, float* scratch) {
  backward(shape, dropout, qkv, mixed, statistics, gradient, qkv_gradient, scratch);
}

void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, const double* mixed,
                        const double* statistics, const double* gradient, double* qkv_gradient, double* scratch) {
  backward(shape, dropout, qkv, mixed, statistics, gradient, qkv_gradient, scratch);
}

}  // namespace samegrad::SAMEGRAD_ISA
