// Weights are computed again from the rows' statistics. With P the weights, M dropout's mask and dO the gradient of the
// result: dV = (P M)' dO; dP = (dO V') M; dS = P (dP - D) with D = the row's sum of P dP, which is that of dO O;
// dQ = dS K and dK = dS' Q, both times the scale of the scores.
#include "samegrad/kernels/attention_block.h"

namespace samegrad::SAMEGRAD_ISA {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

/// Of a block's rows.
template <typename Element>
struct RowStatistics {
  Element largest[kAttentionBlockRows];
  Element inverse[kAttentionBlockRows];
  Element product[kAttentionBlockRows];  ///< D
};

/// scores -> weights with dropout, products (dO V') -> dS; both 0 where a row does not see, up to its tile's end.
template <typename Element>
void gradients_of_scores(const HeadOfSample& head, const WeightBlock& block, const KeyedMask* dropout,
                         Panel<Element> scores, Panel<Element> products, Element* mask,
                         const RowStatistics<Element>& rows) {
  constexpr int kSide = kWidth<Element>;
  const Register<Element> zero{};
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t seen = block.seen(r);
    const std::int64_t chunks = chunks_of<Element>(block.seen_by_tile(r));
    const Register<Element> largest = every(rows.largest[r]);
    const Register<Element> inverse = every(rows.inverse[r]);
    const Register<Element> product = every(rows.product[r]);
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
    add_transposed(left, right, out, block.key + key, key, chunks, hidden > 0 ? hidden : 0, block.rows);
  }
}

template <typename Element>
void backward(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, const Element* mixed,
              const Element* statistics, const Element* gradient, Element* qkv_gradient, Element* scratch) {
  const std::int64_t width = shape.head_width;
  const std::int64_t mixed_step = shape.heads * width;
  const std::int64_t step = 3 * mixed_step;
  const std::int64_t chunks = chunks_of<Element>(width);
  const double scale = 1.0 / __builtin_sqrt(static_cast<double>(width));
  for_each_head(shape, [&](const HeadOfSample& head) {
    Element* free = scratch;
    const std::int64_t padded = round_up(head.length, 16);
    Panel<Element> columns_k = take_panel(free, width, head.length);
    Panel<Element> columns_v = take_panel(free, width, head.length);
    Panel<Element> keys = take_panel(free, head.length, width);
    Panel<Element> key_gradient = take_panel(free, padded, width);
    Panel<Element> value_gradient = take_panel(free, padded, width);
    Panel<Element> queries = take_panel(free, kAttentionBlockRows, width);
    Panel<Element> gradients = take_panel(free, kAttentionBlockRows, width);
    Panel<Element> query_gradient = take_panel(free, kAttentionBlockRows, width);
    Panel<Element> scores = take_panel(free, kAttentionBlockRows, kAttentionBlockKeys);
    Panel<Element> products = take_panel(free, kAttentionBlockRows, kAttentionBlockKeys);
    for (std::int64_t i = 0; i < kAttentionBlockKeys + kWidth<Element>; ++i) free[i] = 0;  // factors of no weight
    const Element* of_head = qkv + head.first_token * step + head.head * width;
    Element* result = qkv_gradient + head.first_token * step + head.head * width;
    pack_transposed(of_head + mixed_step, step, head.length, width, columns_k);
    pack_transposed(of_head + 2 * mixed_step, step, head.length, width, columns_v);
    pack_rows(of_head + mixed_step, step, head.length, head.length, width, Element{1}, keys);
    for (std::int64_t i = 0; i < padded * chunks * kWidth<Element>; ++i) {
      key_gradient.values[i] = 0;
      value_gradient.values[i] = 0;
    }
    for (std::int64_t row = 0; row < head.length; row += kAttentionBlockRows) {
      const std::int64_t rows = at_most(kAttentionBlockRows, head.length - row);
      const std::int64_t place = (head.first_token + row) * mixed_step + head.head * width;
      pack_rows(of_head + row * step, step, rows, round_up(rows, kRowGroup), width,
                static_cast<Element>(scale * kLog2E), queries);
      pack_rows(gradient + place, mixed_step, rows, round_up(rows, kRowGroup), width, Element{1}, gradients);
      RowStatistics<Element> of_rows;
      for (std::int64_t group = 0; group < rows; group += kWidth<Element>) {
        Register<Element> parts[kWidth<Element>] = {};
        for (std::int64_t i = 0; i < at_most(kWidth<Element>, rows - group); ++i) {
          const Element* from = mixed + place + (group + i) * mixed_step;
          for (std::int64_t c = 0; c < chunks; ++c) {
            parts[i] += load_register(gradients.at(c, group + i)) *
                        load_first(from + c * kWidth<Element>, width - c * kWidth<Element>);
          }
          const std::int64_t statistic = (head.first_token + row + group + i) * shape.heads + head.head;
          of_rows.largest[group + i] = statistics[2 * statistic];
          of_rows.inverse[group + i] = statistics[2 * statistic + 1];
        }
        store_register(of_rows.product + group, sums_of_rows<Element>(parts));
      }
      const std::int64_t seen = shape.causal ? row + rows : head.length;
      for (std::int64_t key = 0; key < seen; key += kAttentionBlockKeys) {
        const WeightBlock block{row, rows, key, at_most(kAttentionBlockKeys, seen - key), shape.causal};
        multiply_seen(block, queries, columns_k, width, scores);
        multiply_seen(block, gradients, columns_v, width, products);
        gradients_of_scores(head, block, dropout, scores, products, free, of_rows);
        add_to_keys(block, scores, gradients, chunks, value_gradient);
        add_to_keys(block, products, queries, chunks, key_gradient);
        multiply_weights(block, products, keys, chunks, query_gradient, /*add=*/key > 0);
      }
      unpack_rows(query_gradient, rows, width, static_cast<Element>(scale), result + row * step, step);
    }
    unpack_rows(key_gradient, head.length, width, static_cast<Element>(kLn2), result + mixed_step, step);
    unpack_rows(value_gradient, head.length, width, Element{1}, result + 2 * mixed_step, step);
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
