// The models of benchmarks/ddp_overhead.cpp and the ways to make a training step.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>
#include <torch/optim/sgd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/c10d_reducer.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/window.h"

namespace samegrad {

struct Shape {
  std::int64_t layers, width, feed_forward, heads, sequences, tokens;
};

/// 282,628 parameters, as the lesson's model has; 3.2 and 25.3 million.
inline const std::map<std::string, Shape> kShapes{
    {"lesson", {2, 128, 256, 4, 8, 128}}, {"3m", {4, 256, 1024, 4, 8, 128}}, {"25m", {8, 512, 2048, 8, 8, 128}}};

/// A Transformer encoder with learned positions and a class for each token.
struct EncoderImpl : torch::nn::Module {
  explicit EncoderImpl(const Shape& shape)
      : token(register_module("token", torch::nn::Embedding(6, shape.width))),
        position(register_module("position", torch::nn::Embedding(128, shape.width))),
        encoder(register_module(
            "encoder",
            torch::nn::TransformerEncoder(torch::nn::TransformerEncoderOptions(
                torch::nn::TransformerEncoderLayer(torch::nn::TransformerEncoderLayerOptions(shape.width, shape.heads)
                                                       .dim_feedforward(shape.feed_forward)
                                                       .dropout(0)),
                shape.layers)))),
        head(register_module("head", torch::nn::Linear(shape.width, 4))) {}

  /// ids [tokens, sequences] -> [tokens, sequences, 4].
  at::Tensor forward(const at::Tensor& ids) {
    return head(encoder(token(ids) + position(at::arange(ids.size(0))).unsqueeze(1)));
  }

  torch::nn::Embedding token;
  torch::nn::Embedding position;
  torch::nn::TransformerEncoder encoder;
  torch::nn::Linear head;
};
TORCH_MODULE(Encoder);

struct Batch {
  at::Tensor ids;
  at::Tensor targets;
};

inline Batch batch_of(const Shape& shape, int rank) {
  at::manual_seed(7 + static_cast<std::uint64_t>(rank));
  return {at::randint(6, {shape.tokens, shape.sequences}, at::kLong),
          at::randint(4, {shape.tokens * shape.sequences}, at::kLong)};
}

inline at::Tensor loss_of(const at::Tensor& logits, const Batch& batch, at::Reduction::Reduction reduction) {
  return at::cross_entropy_loss(logits.view({-1, 4}), batch.targets, {}, reduction);
}

/// One way to make a training step, on a model of its own.
class Side {
 public:
  Side(const Shape& shape, const Batch& batch) : batch_(&batch) {
    at::manual_seed(1);
    model_ = Encoder(shape);
    optimizer_.emplace(model_->parameters(), torch::optim::SGDOptions(0.01));
  }
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Forward, backward and the exchange: afterwards .grad is what the optimizer takes.
  virtual void gradients() { mean_loss(model_->forward(batch_->ids)).backward(); }
  void step() {
    // Not zero_grad(): it refuses gradients that are views of PyTorch's buckets.
    for (const at::Tensor& parameter : model_->parameters()) parameter.mutable_grad().reset();
    gradients();
    optimizer_->step();
  }
  /// All of .grad in one row.
  at::Tensor gradient() const {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& parameter : model_->parameters()) parts.push_back(parameter.grad().flatten());
    return at::cat(parts);
  }

 protected:
  at::Tensor mean_loss(const at::Tensor& logits) const { return loss_of(logits, *batch_, at::Reduction::Mean); }

  const Batch* batch_;
  Encoder model_{nullptr};
  std::optional<torch::optim::SGD> optimizer_;
};

class DdpSide : public Side {
 public:
  DdpSide(const Shape& shape, const Batch& batch, const World& world) : Side(shape, batch), ddp_(model_, world) {}
  void gradients() override { mean_loss(ddp_.forward(batch_->ids)).backward(); }

 private:
  DistributedDataParallel<Encoder> ddp_;
};

class WindowSide : public Side {
 public:
  WindowSide(const Shape& shape, const Batch& batch, const World& world)
      : Side(shape, batch), world_(world), parameters_(module_contents(*model_).parameters), pool_(parameters_) {}
  void gradients() override {
    Window window(parameters_, pool_, world_.communicator(),
                  {.count = batch_->targets.numel(), .atoms = 1, .update = ++update_});
    window.backward([this] { return loss_of(model_->forward(batch_->ids), *batch_, at::Reduction::Sum); });
    window.reduce();
  }

 private:
  World world_;
  ParameterSet parameters_;
  GradientBufferPool pool_;
  std::int64_t update_ = 0;
};

class C10dSide : public Side {
 public:
  C10dSide(const Shape& shape, const Batch& batch, C10dGroup& group, bool views)
      : Side(shape, batch), reducer_(group, model_->parameters(), {.gradient_as_bucket_view = views}) {}
  void gradients() override {
    reducer_.before_forward();
    const at::Tensor logits = model_->forward(batch_->ids);
    reducer_.after_forward({logits});
    mean_loss(logits).backward();
  }

 private:
  C10dReducer reducer_;
};

}  // namespace samegrad
