#include "samegrad/model/head_sums.h"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/kernels/softmax.h"
#include "samegrad/model/first_order.h"
#include "samegrad/model/linear.h"

namespace samegrad {
namespace {

/// Some tokens: their probabilities [tokens, choices], targets and weights (nullptr: 1 each), and the logarithms of
/// their sums of exponentials.
template <typename Element>
struct Tokens {
  std::int64_t count;
  std::int64_t choices;
  const std::int64_t* targets;
  const double* weights;

  double weight(std::int64_t t) const { return weights == nullptr ? 1.0 : weights[t]; }

  /// Logits become probabilities. Adds to the sums.
  void forward(Element* logits, double* log_sums, double& loss, double& z) const {
    std::vector<Element> largest(static_cast<std::size_t>(count));
    std::vector<Element> total(static_cast<std::size_t>(count));
    std::vector<double> of_target(static_cast<std::size_t>(count));
    for (std::int64_t t = 0; t < count; ++t) {
      if (targets[t] == kIgnoreTarget) continue;
      SAMEGRAD_CHECK_OP(targets[t], >=, 0);
      SAMEGRAD_CHECK_OP(targets[t], <, choices);
      of_target[static_cast<std::size_t>(t)] = logits[t * choices + targets[t]];
    }
    softmax_rows(logits, count, choices, largest.data(), total.data());
    for (std::int64_t t = 0; t < count; ++t) {
      const auto i = static_cast<std::size_t>(t);
      log_sums[t] = static_cast<double>(largest[i]) + std::log(static_cast<double>(total[i]));
      if (targets[t] == kIgnoreTarget) continue;
      loss += weight(t) * (log_sums[t] - of_target[i]);
      z += log_sums[t] * log_sums[t];
    }
  }

  /// The logits' gradient, from the probabilities; `to` may be where they are.
  void backward(const Element* probabilities, const double* log_sums, double of_loss, double of_z, Element* to) const {
    for (std::int64_t t = 0; t < count; ++t) {
      Element* const row = to + t * choices;
      if (targets[t] == kIgnoreTarget) {
        std::fill_n(row, choices, Element{0});
        continue;
      }
      const double of_token = of_loss * weight(t);
      const auto factor = static_cast<Element>(of_token + 2.0 * of_z * log_sums[t]);
      for (std::int64_t j = 0; j < choices; ++j) row[j] = factor * probabilities[t * choices + j];
      row[targets[t]] -= static_cast<Element>(of_token);
    }
  }
};

/// What stays the same for all parts of the tokens.
struct Whole {
  at::Tensor targets;  // int64
  at::Tensor weights;  // float64, or undefined
  std::int64_t choices;
  std::int64_t tokens_at_a_time;

  template <typename Element>
  Tokens<Element> part(std::int64_t first, std::int64_t count) const {
    return {count, choices, targets.const_data_ptr<std::int64_t>() + first,
            weights.defined() ? weights.const_data_ptr<double>() + first : nullptr};
  }
};

struct HeadSums : torch::autograd::Function<HeadSums> {
  static std::vector<at::Tensor> forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                                         const at::Tensor& weight, const at::Tensor& bias, const Whole& whole) {
    const std::int64_t tokens = x.size(0);
    const at::Tensor log_sums = at::empty({tokens}, at::kDouble);
    at::Tensor probabilities;
    double loss = 0.0;
    double z = 0.0;
    for (std::int64_t first = 0; first < tokens; first += whole.tokens_at_a_time) {
      const std::int64_t count = std::min(whole.tokens_at_a_time, tokens - first);
      const at::Tensor logits = product(x.narrow(0, first, count), weight.t(), bias);
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "head_sums", [&] {
        whole.part<scalar_t>(first, count)
            .forward(logits.mutable_data_ptr<scalar_t>(), log_sums.mutable_data_ptr<double>() + first, loss, z);
      });
      if (count == tokens) probabilities = logits;
    }
    context->save_for_backward({x, weight, bias, whole.targets, whole.weights, log_sums, probabilities});
    context->saved_data["tokens_at_a_time"] = whole.tokens_at_a_time;
    return {at::tensor(loss, at::kDouble), at::tensor(z, at::kDouble)};
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>& output_gradients) {
    refuse_second_gradient("the loss");
    const std::vector<at::Tensor> saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const Whole whole{saved[3], saved[4], weight.size(0), context->saved_data["tokens_at_a_time"].toInt()};
    const auto of_loss = output_gradients[0].item<double>();
    const auto of_z = output_gradients[1].item<double>();
    std::vector<at::Tensor> gradients(4);
    const std::int64_t tokens = x.size(0);
    for (std::int64_t first = 0; first < tokens; first += whole.tokens_at_a_time) {
      const std::int64_t count = std::min(whole.tokens_at_a_time, tokens - first);
      const at::Tensor rows = x.narrow(0, first, count);
      at::Tensor probabilities = saved[6];
      if (!probabilities.defined()) probabilities = product(rows, weight.t(), saved[2]);
      const at::Tensor gradient = saved[6].defined() ? at::empty_like(probabilities) : probabilities;
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "head_sums_backward", [&] {
        const Tokens<scalar_t> part = whole.part<scalar_t>(first, count);
        const double* const log_sums = saved[5].const_data_ptr<double>() + first;
        if (!saved[6].defined()) {
          std::vector<double> again(static_cast<std::size_t>(count));
          double loss = 0.0;
          double z = 0.0;
          part.forward(probabilities.mutable_data_ptr<scalar_t>(), again.data(), loss, z);
        }
        part.backward(probabilities.const_data_ptr<scalar_t>(), log_sums, of_loss, of_z,
                      gradient.mutable_data_ptr<scalar_t>());
      });
      const at::Tensor to_rows = product(gradient, weight);
      const at::Tensor to_weight = product(gradient.t(), rows);
      const at::Tensor to_bias = sum_of_rows(gradient);
      if (count == tokens) return {to_rows, to_weight, to_bias, {}};
      if (first == 0) {
        gradients = {at::empty_like(x), to_weight, to_bias, {}};
      } else {
        gradients[1] += to_weight;
        gradients[2] += to_bias;
      }
      gradients[0].narrow(0, first, count).copy_(to_rows);
    }
    return gradients;
  }
};

Whole whole_of(const PackedBatch& batch, std::int64_t choices, std::int64_t most_logits) {
  return {at::tensor(batch.targets, at::kLong),
          batch.weights.empty() ? at::Tensor() : at::tensor(batch.weights, at::kDouble), choices,
          std::max(std::int64_t{64}, most_logits / choices)};
}

}  // namespace

Model::LossAndZ head_sums(const at::Tensor& x, const LinearParameters& head, const PackedBatch& batch, bool with_z,
                          std::int64_t most_logits) {
  const Whole whole = whole_of(batch, head.weight.size(0), most_logits);
  const std::vector<at::Tensor> sums = HeadSums::apply(x, head.weight, head.bias, whole);
  return {sums[0], with_z ? sums[1] : at::Tensor()};
}

double loss_of_logits(const at::Tensor& logits, const PackedBatch& batch) {
  const Whole whole = whole_of(batch, logits.size(1), logits.numel());
  const at::Tensor probabilities = logits.detach().clone(at::MemoryFormat::Contiguous);
  std::vector<double> log_sums(static_cast<std::size_t>(logits.size(0)));
  double loss = 0.0;
  double z = 0.0;
  AT_DISPATCH_FLOATING_TYPES(logits.scalar_type(), "loss_of_logits", [&] {
    whole.part<scalar_t>(0, logits.size(0))
        .forward(probabilities.mutable_data_ptr<scalar_t>(), log_sums.data(), loss, z);
  });
  return loss;
}

}  // namespace samegrad
