#include "samegrad/ddp/module_contents.h"

#include <unordered_set>
#include <vector>

namespace samegrad {
namespace {

template <typename Dict>
std::vector<NamedTensor> distinct(const Dict& tensors) {
  std::unordered_set<const void*> seen;
  std::vector<NamedTensor> result;
  for (const auto& item : tensors) {
    if (item.value().defined() && seen.insert(item.value().unsafeGetTensorImpl()).second) {
      result.push_back({item.key(), item.value()});
    }
  }
  return result;
}

}  // namespace

ModelTensors module_contents(const torch::nn::Module& module) {
  return {distinct(module.named_parameters()), distinct(module.named_buffers())};
}

}  // namespace samegrad
