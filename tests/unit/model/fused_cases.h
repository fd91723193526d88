// The fused operations beside the same formulas in ATen's own operations.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"
#include "samegrad/model/head_sums.h"
#include "samegrad/model/linear.h"
#include "samegrad/model/norm.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {

using Tensors = std::vector<at::Tensor>;
using Formula = std::function<at::Tensor(const Tensors&)>;

struct Operation {
  std::string name;
  std::vector<std::vector<std::int64_t>> shapes;  // of the inputs, all of which need gradients
  Formula fused;
  Formula plain;
};

inline Tensors inputs_of(const Operation& operation, at::ScalarType type, std::uint32_t seed = 3) {
  Tensors inputs;
  for (const std::vector<std::int64_t>& shape : operation.shapes) {
    at::Tensor values = at::empty(shape, at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      values.mutable_data_ptr<double>()[i] =
          test_noise(seed, static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint32_t>(i));
    }
    inputs.push_back(values.to(at::kFloat).to(type).requires_grad_());
  }
  return inputs;
}

/// A number that every element of `output` takes part in, each in its own measure.
inline at::Tensor number(const at::Tensor& output) {
  const at::Tensor measure = at::arange(output.numel(), at::kDouble).mul(0.7).sin().view(output.sizes());
  return (output.to(at::kDouble) * measure).sum();
}

struct Outcome {
  at::Tensor output;
  Tensors gradients;
};

inline Outcome outcome(const Formula& formula, const Tensors& inputs) {
  const at::Tensor output = formula(inputs);
  return {output.detach(), gradients_of(number(output), inputs)};
}

/// Largest difference, relative to the largest component or 1.
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return 0.0;
  const at::Tensor expected = b.to(at::kDouble);
  const double size = std::max(1.0, expected.abs().max().item<double>());
  return (a.to(at::kDouble) - expected).abs().max().item<double>() / size;
}

inline LinearParameters linear_at(const Tensors& inputs, std::size_t first) {
  return {inputs[first], inputs[first + 1]};
}
inline NormParameters norm_at(const Tensors& inputs, std::size_t first) { return {inputs[first], inputs[first + 1]}; }

inline LayerParameters feed_forward_at(const Tensors& inputs) {
  LayerParameters layer;
  layer.linear1 = linear_at(inputs, 1);
  layer.linear2 = linear_at(inputs, 3);
  return layer;
}

inline PackedBatch batch_of(std::int64_t tokens, std::int64_t choices, bool weights) {
  PackedBatch batch;
  for (std::int64_t t = 0; t < tokens; ++t) {
    batch.inputs.push_back((t * 7 + 3) % 5);
    batch.targets.push_back(t % 3 == 1 ? kIgnoreTarget : (t * 5 + 2) % choices);
    if (weights) batch.weights.push_back(0.5 + 0.25 * static_cast<double>(t % 4));
  }
  batch.offsets = {0, tokens / 3, tokens};
  return batch;
}

inline at::Tensor plain_linear(const at::Tensor& x, const LinearParameters& parameters) {
  return x.matmul(parameters.weight.t()) + parameters.bias;
}

inline at::Tensor plain_norm(const at::Tensor& x, const NormParameters& parameters) {
  const at::Tensor centred = x - x.mean(-1, true);
  return centred / at::sqrt((centred * centred).mean(-1, true) + 1e-5) * parameters.weight + parameters.bias;
}

inline at::Tensor plain_sums(const Tensors& inputs, const PackedBatch& batch) {
  const at::Tensor logs = at::log_softmax(plain_linear(inputs[0], linear_at(inputs, 1)), 1);
  const at::Tensor lse = at::logsumexp(plain_linear(inputs[0], linear_at(inputs, 1)), {1});
  at::Tensor loss = 0.0 * inputs[0].sum().to(at::kDouble);  // in the graph also without tokens
  at::Tensor z = at::zeros({}, at::kDouble);
  for (std::size_t t = 0; t < batch.targets.size(); ++t) {
    if (batch.targets[t] == kIgnoreTarget) continue;
    const auto row = static_cast<std::int64_t>(t);
    loss = loss - logs[row][batch.targets[t]].to(at::kDouble) * (batch.weights.empty() ? 1.0 : batch.weights[t]);
    z = z + lse[row].to(at::kDouble) * lse[row];
  }
  return loss + 0.5 * z;
}

inline std::vector<Operation> operations(std::int64_t rows, std::int64_t width) {
  const std::int64_t inner = 2 * width + 1;
  std::vector<Operation> all;
  all.push_back({"linear",
                 {{rows, width}, {inner, width}, {inner}},
                 [](const Tensors& in) { return linear(in[0], linear_at(in, 1)); },
                 [](const Tensors& in) { return plain_linear(in[0], linear_at(in, 1)); }});
  for (const double probability : {0.0, 0.4}) {
    const Dropout dropout(probability, DropoutKey{.seed = 1, .update = 2, .atom = 3});
    all.push_back({"feed_forward",
                   {{rows, width}, {inner, width}, {inner}, {width, inner}, {width}},
                   [=](const Tensors& in) { return feed_forward(in[0], feed_forward_at(in), dropout, 1); },
                   [=](const Tensors& in) {
                     const at::Tensor z = plain_linear(in[0], linear_at(in, 1));
                     const at::Tensor a = 0.5 * z * (1.0 + at::erf(z / std::sqrt(2.0)));
                     const at::Tensor dropped = dropout(a, {1, DropoutPlace::kInnerFeedForward});
                     return dropout(plain_linear(dropped, linear_at(in, 3)), {1, DropoutPlace::kFeedForward});
                   }});
  }
  all.push_back({"normalise",
                 {{rows, width}, {width}, {width}},
                 [](const Tensors& in) { return normalise(in[0], norm_at(in, 1)); },
                 [](const Tensors& in) { return plain_norm(in[0], norm_at(in, 1)); }});
  all.push_back({"normalise_sum",
                 {{rows, width}, {rows, width}, {width}, {width}},
                 [](const Tensors& in) { return normalise_sum(in[0], in[1], norm_at(in, 2)); },
                 [](const Tensors& in) { return plain_norm(in[0] + in[1], norm_at(in, 2)); }});
  all.push_back({"sum_and_normalise",
                 {{rows, width}, {rows, width}, {width}, {width}},
                 [](const Tensors& in) {
                   const auto [sum, normal] = sum_and_normalise(in[0], in[1], norm_at(in, 2));
                   return at::cat({sum, normal});
                 },
                 [](const Tensors& in) {
                   return at::cat({in[0] + in[1], plain_norm(in[0] + in[1], norm_at(in, 2))});
                 }});
  for (const std::int64_t most_logits : {std::int64_t{1} << 22, std::int64_t{1}}) {  // all at once; 64 rows at a time
    const PackedBatch batch = batch_of(rows, inner, /*weights=*/most_logits == 1);
    all.push_back({"head_sums",
                   {{rows, width}, {inner, width}, {inner}},
                   [=](const Tensors& in) {
                     const Model::LossAndZ sums = head_sums(in[0], linear_at(in, 1), batch, true, most_logits);
                     return sums.loss + 0.5 * sums.z;
                   },
                   [=](const Tensors& in) { return plain_sums(in, batch); }});
  }
  const PackedBatch batch = batch_of(rows, 3, false);
  all.push_back({"embed",
                 {{5, width}, {rows + 1, width}},
                 [=](const Tensors& in) { return embed(batch, in[0], in[1]); },
                 [=](const Tensors& in) {
                   const auto first = static_cast<std::int64_t>(batch.offsets[1]);
                   const at::Tensor places = at::cat({at::arange(first), at::arange(rows - first)});
                   return in[0].index_select(0, at::tensor(batch.inputs, at::kLong)) + in[1].index_select(0, places);
                 }});
  return all;
}

}  // namespace samegrad
