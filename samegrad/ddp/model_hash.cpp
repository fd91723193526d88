#include "samegrad/ddp/model_hash.h"

#include <ATen/ops/view_as_real.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/ddp/element_hash.h"
#include "samegrad/ddp/module_contents.h"
#include "samegrad/ddp/named_tensor.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {
namespace {

template <typename Element>
void add(Xxh3& hash, const at::Tensor& values) {
  add_elements(hash, std::span(values.const_data_ptr<Element>(), static_cast<std::size_t>(values.numel())));
}

void add_tensor(Xxh3& hash, const NamedTensor& named) {
  if (named.tensor.layout() != at::kStrided) {
    throw InputError("hash", named.name + ": a sparse tensor; only dense ones have a hash");
  }
  at::Tensor values = named.tensor.detach();
  if (values.is_complex()) values = at::view_as_real(values.resolve_conj());
  values = values.cpu().contiguous();
  switch (values.scalar_type()) {
    case at::kFloat:
      return add<float>(hash, values);
    case at::kDouble:
      return add<double>(hash, values);
    case at::kHalf:
      return add<c10::Half>(hash, values);
    case at::kBFloat16:
      return add<c10::BFloat16>(hash, values);
    default:
      return hash.update({static_cast<const char*>(values.const_data_ptr()), values.nbytes()});
  }
}

std::string hash_of(const std::vector<NamedTensor>& tensors) {
  Xxh3 hash;
  for (const NamedTensor& named : tensors) add_tensor(hash, named);
  return hash.hex();
}

}  // namespace

std::string model_hash(const torch::nn::Module& module) { return hash_of(module_contents(module).parameters); }

std::string buffers_hash(const torch::nn::Module& module) { return hash_of(module_contents(module).buffers); }

}  // namespace samegrad
