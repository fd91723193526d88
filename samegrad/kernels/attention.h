// Self-attention over packed sequences: softmax(q k' / sqrt(head width)) v of each sample and head, and its gradient.
#pragma once

#include <cstdint>

#include "samegrad/kernels/keyed_mask.h"

namespace samegrad {

/// Sample s is the tokens offsets[s] .. offsets[s + 1] - 1.
struct PackedShape {
  const std::int64_t* offsets;  ///< [samples + 1], from 0, not falling
  std::int64_t samples;
  std::int64_t heads;
  std::int64_t head_width;
  bool causal;  ///< a token sees itself and the tokens before it
};

/// qkv: [tokens, 3, heads, head_width], as the in-projection leaves it. mixed: [tokens, heads, head_width].
/// statistics: [tokens, heads, 2], for the backward: a row's largest score (times log2(e)) and 1 / its sum. `dropout`
/// (null: none) masks the weights: element (sample, head, row, column) has the number of heads x length^2 of the
/// samples before, and then its place in [heads, length, length]. Memory beside these grows with the longest sample,
/// not with its square (attention_scratch_elements), and stays with the thread. Local.
void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, float* mixed,
                       float* statistics);
void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, double* mixed,
                       double* statistics);

/// The gradient of qkv from `gradient`, that of mixed; the others as they were for attention_forward, and what it gave.
/// Weights are computed again. Local.
void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, const float* mixed,
                        const float* statistics, const float* gradient, float* qkv_gradient);
void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, const double* mixed,
                        const double* statistics, const double* gradient, double* qkv_gradient);

/// Rows and keys that are worked on at once.
inline constexpr std::int64_t kAttentionBlockRows = 32;
inline constexpr std::int64_t kAttentionBlockKeys = 128;

/// What a kernel needs beside its operands, for samples of at most `longest` tokens. Local.
std::int64_t attention_scratch_elements(std::int64_t longest, std::int64_t head_width);

}  // namespace samegrad
