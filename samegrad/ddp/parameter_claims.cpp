#include "samegrad/ddp/parameter_claims.h"

#include <mutex>
#include <unordered_map>

namespace samegrad {
namespace {

struct Registry {
  std::mutex mutex;  // ranks may be threads
  std::unordered_map<const c10::TensorImpl*, const ParameterClaims*> holders;
};

Registry& registry() {
  static Registry& all = *new Registry;  // a wrapper may end after the statics of this file
  return all;
}

}  // namespace

std::string ParameterClaims::held_elsewhere(const std::vector<NamedTensor>& parameters) const {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const NamedTensor& named : parameters) {
    const auto found = all.holders.find(named.tensor.unsafeGetTensorImpl());
    if (found != all.holders.end() && found->second != this) return named.name;
  }
  return "";
}

void ParameterClaims::replace(const std::vector<NamedTensor>& parameters) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const at::Tensor& tensor : held_) all.holders.erase(tensor.unsafeGetTensorImpl());
  held_.clear();
  for (const NamedTensor& named : parameters) {
    if (all.holders.emplace(named.tensor.unsafeGetTensorImpl(), this).second) held_.push_back(named.tensor);
  }
}

}  // namespace samegrad
