// A checkpoint of a small module, and what refuses to load it.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/module_checkpoint.h"
#include "samegrad/comm/single_communicator.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad::testing {

inline World world_of(Communicator& comm) {
  return World(std::shared_ptr<Communicator>(&comm, [](Communicator*) {}));
}
inline World alone() { return World(std::make_shared<SingleCommunicator>()); }

/// Parameters a [2,3] and b [4], buffer c.
inline std::shared_ptr<torch::nn::Module> small_module(const std::function<void(torch::nn::Module&)>& more = {}) {
  auto module = std::make_shared<torch::nn::Module>();
  module->register_parameter("a", at::ones({2, 3}));
  module->register_parameter("b", at::ones({4}));
  module->register_buffer("c", at::ones({1}, at::kLong));
  if (more) more(*module);
  return module;
}

inline std::unique_ptr<torch::optim::SGD> sgd(torch::nn::Module& module) {
  return std::make_unique<torch::optim::SGD>(module.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
}

/// A checkpoint of small_module() with one step of SGD, and the refusals of loading it.
class Refusals : public ::testing::Test {
 protected:
  Refusals() : folder_(Medium::kMemory) {
    const auto module = small_module();
    const auto optimizer = sgd(*module);
    for (at::Tensor parameter : module->parameters()) parameter.mutable_grad() = at::full_like(parameter, 0.5);
    optimizer->step();
    path_ = checkpoint::save(alone(), folder_.path(), {*module, optimizer.get()}, {.update = 1});
  }

  /// The refusal of loading into `module` and `optimizer`, whose values must be what they were.
  std::string refusal(torch::nn::Module& module, torch::optim::Optimizer* optimizer) {
    std::vector<at::Tensor> before;
    for (const at::Tensor& tensor : module.parameters()) before.push_back(tensor.detach().clone());
    const std::string text = error_text<CheckError>([&] { checkpoint::load(alone(), path_, {module, optimizer}); });
    const std::vector<at::Tensor> after = module.parameters();
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i], after[i]));
    EXPECT_TRUE(optimizer == nullptr || optimizer->state().empty());
    return text;
  }
  std::string refusal_of_model(const std::shared_ptr<torch::nn::Module>& module) {
    const auto optimizer = sgd(*module);
    return refusal(*module, optimizer.get());
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
};

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

}  // namespace samegrad::testing
