// Packed sequences of random lengths, and attention over them by PyTorch's operations, sample by sample.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/philox.h"
#include "samegrad/model/attention.h"

namespace samegrad {

struct PackedCase {
  std::vector<std::int64_t> offsets;
  std::int64_t heads;
  std::int64_t head_width;
  bool causal;

  std::int64_t tokens() const { return offsets.back(); }
  AttentionShape shape() const { return {heads, causal}; }
};

/// Lengths 1, and `count` others from 1 to `longest`.
inline PackedCase packed_case(std::uint32_t seed, std::int64_t count, std::int64_t longest, std::int64_t heads,
                              std::int64_t head_width, bool causal) {
  PackedCase made{{0, 1}, heads, head_width, causal};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0xA77E})[0];
    made.offsets.push_back(made.offsets.back() + 1 + bits % static_cast<std::uint32_t>(longest));
  }
  return made;
}

/// Uniform in [-2, 2), a function of seed and place.
inline at::Tensor uniform_values(std::vector<std::int64_t> shape, at::ScalarType dtype, std::uint32_t seed) {
  at::Tensor values = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const std::uint32_t bits = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0x7A1})[0];
    values.mutable_data_ptr<double>()[i] = 4.0 * static_cast<double>(bits) * 0x1.0p-32 - 2.0;
  }
  return values.to(dtype);
}

inline at::Tensor qkv_of(const PackedCase& packed, at::ScalarType dtype) {
  return uniform_values({packed.tokens(), 3 * packed.heads * packed.head_width}, dtype, 1);
}

/// `attend` of q, k and v of each sample, all [1, heads, length, head width], as one [tokens, width].
template <typename Attend>
at::Tensor sample_by_sample(const at::Tensor& qkv, const PackedCase& packed, const Attend& attend) {
  std::vector<at::Tensor> rows;
  for (std::size_t s = 0; s + 1 < packed.offsets.size(); ++s) {
    const std::int64_t length = packed.offsets[s + 1] - packed.offsets[s];
    const at::Tensor sample = qkv.narrow(0, packed.offsets[s], length)
                                  .reshape({length, 3, packed.heads, packed.head_width})
                                  .permute({1, 2, 0, 3})
                                  .unsqueeze(1);
    rows.push_back(attend(sample[0], sample[1], sample[2]).squeeze(0).transpose(0, 1).reshape({length, -1}));
  }
  return at::cat(rows, 0);
}

inline at::Tensor pytorch_attention(const at::Tensor& qkv, const PackedCase& packed,
                                    std::optional<double> scale = std::nullopt) {
  return sample_by_sample(qkv, packed, [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, packed.causal, scale);
  });
}

/// The formula, with the whole weights of a sample in memory, and dropout on them.
inline at::Tensor plain_attention(const at::Tensor& qkv, const PackedCase& packed, const Dropout& dropout,
                                  DropoutOperation operation) {
  std::int64_t first_weight = 0;
  return sample_by_sample(qkv, packed, [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    const std::int64_t length = q.size(2);
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(packed.head_width));
    if (packed.causal) {
      scores =
          scores.masked_fill(at::ones({length, length}, at::kBool).triu(1), -std::numeric_limits<double>::infinity());
    }
    const at::Tensor weights = dropout(at::softmax(scores, -1), operation, first_weight);
    first_weight += packed.heads * length * length;
    return at::matmul(weights, v);
  });
}

}  // namespace samegrad
