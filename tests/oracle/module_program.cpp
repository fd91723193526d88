// For test_module_oracle.py: `module-program DIR` saves a module with tied parameters, every type of number, and an
// Adam after one step with gradient 0.5, as update 7 of DIR.
#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/optim/adam.h>

#include <iostream>

#include "samegrad/checkpoint/module_checkpoint.h"
#include "samegrad/comm/single_communicator.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using namespace samegrad;
  torch::nn::Module embedding;
  const at::Tensor weight = embedding.register_parameter("weight", at::arange(6, at::kFloat).view({2, 3}) / 2);
  auto head = std::make_shared<torch::nn::Module>();
  auto model = std::make_shared<torch::nn::Module>();
  model->register_parameter("embedding", weight);
  model->register_module("head", head)->register_parameter("weight", weight);
  const at::Tensor turned = model->register_parameter("turned", at::arange(6, at::kDouble).view({3, 2}).t());
  for (const auto& [name, type] :
       {std::pair("float16", at::kHalf), std::pair("bfloat16", at::kBFloat16), std::pair("uint8", at::kByte),
        std::pair("int8", at::kChar), std::pair("int16", at::kShort), std::pair("int32", at::kInt),
        std::pair("int64", at::kLong), std::pair("bool", at::kBool)}) {
    model->register_buffer(std::string("of_") + name, at::arange(3).to(type));
  }
  model->register_buffer("empty", at::empty({0, 4}));
  model->register_buffer("scalar", at::scalar_tensor(-0.0, at::kDouble));
  torch::optim::Adam adam({weight, turned}, torch::optim::AdamOptions(0.1).betas({0.8, 0.99}));
  for (at::Tensor parameter : model->parameters()) parameter.mutable_grad() = at::full_like(parameter, 0.5);
  adam.step();
  try {
    const World world(std::make_shared<SingleCommunicator>());
    std::cout << checkpoint::save(world, argv[1], {*model, &adam},
                                  {.update = 7, .extra = {{"third", 1.0 / 3.0}}, .tensors = {{"x", at::arange(4)}}})
                     .string();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
