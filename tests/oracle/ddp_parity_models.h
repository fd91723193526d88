// The models of the comparison with PyTorch's DistributedDataParallel; tests/oracle/ddp_models.py has the same ones in
// Python. Every one takes x [rows, 36], in -0.5 to 0.5, and a number by which it may choose a branch.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/functional/linear.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/transformerlayer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace samegrad::parity {

using Tensors = std::vector<at::Tensor>;

struct Model : torch::nn::Module {
  virtual Tensors forward(const at::Tensor& x, std::int64_t choice) = 0;

 protected:
  torch::nn::Linear linear(const std::string& name, std::int64_t from, std::int64_t to) {
    return register_module(name, torch::nn::Linear(from, to));
  }
};

inline at::Tensor features(const at::Tensor& x) { return x.narrow(1, 0, 6); }
inline at::Tensor ids(const at::Tensor& x) { return ((x.narrow(1, 0, 5) + 0.5) * 7).to(at::kLong); }

struct Mlp : Model {
  torch::nn::Linear first = linear("first", 6, 8);
  torch::nn::Linear second = linear("second", 8, 4);
  Tensors forward(const at::Tensor& x, std::int64_t) override { return {second(first(features(x)).tanh())}; }
};

struct Frozen : Mlp {
  Frozen() { first->bias.requires_grad_(false); }
};

struct Float64 : Mlp {
  Float64() { to(at::kDouble); }
  Tensors forward(const at::Tensor& x, std::int64_t choice) override { return Mlp::forward(x.to(at::kDouble), choice); }
};

struct Cnn : Model {
  torch::nn::Conv2d first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 3, 3)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(3));
  torch::nn::Conv2d second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 2, 3)));
  torch::nn::Linear head = linear("head", 8, 3);
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    const at::Tensor maps = norm(first(x.view({-1, 1, 6, 6}))).relu();
    return {head(second(maps).flatten(1))};
  }
};

struct ChannelsLast : Cnn {
  ChannelsLast() {
    for (const auto& convolution : {first, second}) {
      convolution->weight.set_data(convolution->weight.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
};

struct Transformer : Model {
  torch::nn::TransformerEncoderLayer layer =
      register_module("layer", torch::nn::TransformerEncoderLayer(
                                   torch::nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0)));
  torch::nn::Linear head = linear("head", 8, 3);
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    return {head(layer(x.narrow(1, 0, 32).reshape({-1, 4, 8}).transpose(0, 1)))};
  }
};

struct Tied : Model {
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(7, 5));
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    return {at::matmul(embedding(ids(x)).tanh(), embedding->weight.t())};
  }
};

struct SparseEmbedding : Model {
  torch::nn::Embedding embedding =
      register_module("embedding", torch::nn::Embedding(torch::nn::EmbeddingOptions(7, 5).sparse(true)));
  torch::nn::Linear head = linear("head", 5, 3);
  Tensors forward(const at::Tensor& x, std::int64_t) override { return {head(embedding(ids(x)).tanh())}; }
};

struct TwoOutputs : Model {
  torch::nn::Linear body = linear("body", 6, 5);
  torch::nn::Linear left = linear("left", 5, 3);
  torch::nn::Linear right = linear("right", 5, 2);
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    const at::Tensor hidden = body(features(x)).tanh();
    return {left(hidden), right(hidden)};
  }
};

/// One branch of two by `choice`; a third layer is never used.
struct Branches : Model {
  torch::nn::Linear body = linear("body", 6, 5);
  torch::nn::Linear left = linear("left", 5, 3);
  torch::nn::Linear right = linear("right", 5, 3);
  torch::nn::Linear unused = linear("unused", 5, 3);
  Tensors forward(const at::Tensor& x, std::int64_t choice) override {
    const at::Tensor hidden = body(features(x)).tanh();
    return {choice % 2 == 0 ? left(hidden) : right(hidden)};
  }
};

/// The same branch everywhere and always.
struct OneBranch : Branches {
  Tensors forward(const at::Tensor& x, std::int64_t) override { return Branches::forward(x, 0); }
};

struct MixedDtypes : Model {
  torch::nn::Linear first = linear("first", 6, 5);
  torch::nn::Linear second = linear("second", 5, 4);
  torch::nn::Linear third = linear("third", 4, 3);
  MixedDtypes() { second->to(at::kDouble); }
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    return {third(second(first(features(x)).tanh().to(at::kDouble)).tanh().to(at::kFloat))};
  }
};

struct MixedBfloat16 : Model {
  torch::nn::Linear first = linear("first", 6, 5);
  torch::nn::Linear second = linear("second", 5, 3);
  MixedBfloat16() { second->to(at::kBFloat16); }
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    return {second(first(features(x)).tanh().to(at::kBFloat16)).to(at::kFloat)};
  }
};

struct Reused : Model {
  torch::nn::Linear layer = linear("layer", 6, 6);
  Tensors forward(const at::Tensor& x, std::int64_t) override {
    return {layer(layer(layer(features(x)).tanh()).tanh())};
  }
};

template <typename Kind>
std::shared_ptr<Model> make() {
  return std::make_shared<Kind>();
}

/// Throws std::out_of_range for a name that is none.
inline std::shared_ptr<Model> make_model(const std::string& name) {
  static const std::map<std::string, std::shared_ptr<Model> (*)()> kinds{{"Mlp", make<Mlp>},
                                                                         {"Frozen", make<Frozen>},
                                                                         {"Float64", make<Float64>},
                                                                         {"Cnn", make<Cnn>},
                                                                         {"ChannelsLast", make<ChannelsLast>},
                                                                         {"Transformer", make<Transformer>},
                                                                         {"Tied", make<Tied>},
                                                                         {"SparseEmbedding", make<SparseEmbedding>},
                                                                         {"TwoOutputs", make<TwoOutputs>},
                                                                         {"Branches", make<Branches>},
                                                                         {"OneBranch", make<OneBranch>},
                                                                         {"MixedDtypes", make<MixedDtypes>},
                                                                         {"MixedBfloat16", make<MixedBfloat16>},
                                                                         {"Reused", make<Reused>}};
  return kinds.at(name)();
}

}  // namespace samegrad::parity
