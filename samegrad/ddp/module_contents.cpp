#include "samegrad/ddp/module_contents.h"

#include <memory>
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

/// The public ways to a module's own parameters copy them with their names, which takes a hundred times as long.
struct OwnParameters : torch::nn::Module {
  static const auto& of(const torch::nn::Module& module) { return module.*(&OwnParameters::parameters_); }
};

std::uint64_t marked(std::uint64_t mark, const torch::nn::Module& module) {
  for (const auto& item : OwnParameters::of(module)) {
    if (item.value().defined()) mark = marked_parameter(mark, item.value());
  }
  for (const std::shared_ptr<torch::nn::Module>& child : module.children()) mark = marked(mark, *child);
  return mark;
}

}  // namespace

std::uint64_t parameters_mark(const torch::nn::Module& module) { return marked(0, module); }

ModelTensors module_contents(const torch::nn::Module& module) {
  return {distinct(module.named_parameters()), distinct(module.named_buffers())};
}

}  // namespace samegrad
