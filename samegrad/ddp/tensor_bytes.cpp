#include "samegrad/ddp/tensor_bytes.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <string_view>

#include "samegrad/base/digest.h"

namespace samegrad {

std::vector<std::byte> bytes_of_tensors(const std::vector<NamedTensor>& tensors) {
  std::size_t total = 0;
  for (const NamedTensor& named : tensors) total += named.tensor.nbytes();
  std::vector<std::byte> bytes(total);
  std::size_t offset = 0;
  for (const NamedTensor& named : tensors) {
    const at::Tensor values = named.tensor.detach().contiguous();
    std::memcpy(bytes.data() + offset, values.const_data_ptr(), values.nbytes());
    offset += values.nbytes();
  }
  return bytes;
}

void set_bytes_of_tensors(const std::vector<NamedTensor>& tensors, const std::vector<std::byte>& bytes) {
  const at::NoGradGuard no_grad;
  std::size_t offset = 0;
  for (const NamedTensor& named : tensors) {
    const std::byte* const source = bytes.data() + offset;
    offset += named.tensor.nbytes();
    const at::Tensor now = named.tensor.detach().contiguous();
    if (std::memcmp(now.const_data_ptr(), source, now.nbytes()) == 0) continue;
    at::Tensor values = at::empty(named.tensor.sizes(), named.tensor.options().requires_grad(false));
    std::memcpy(values.mutable_data_ptr(), source, values.nbytes());
    at::Tensor target = named.tensor;
    target.copy_(values);
  }
}

std::string tensor_hash(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().contiguous();
  return xxh3_128_hex({static_cast<const char*>(values.const_data_ptr()), values.nbytes()});
}

}  // namespace samegrad
