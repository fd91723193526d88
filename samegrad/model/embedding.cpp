#include "samegrad/model/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>

#include <numeric>
#include <vector>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

std::vector<std::int64_t> positions_within_samples(const PackedBatch& batch, std::int64_t most) {
  std::vector<std::int64_t> positions(batch.inputs.size());
  for (std::size_t s = 0; s + 1 < batch.offsets.size(); ++s) {
    SAMEGRAD_CHECK_OP(batch.offsets[s + 1] - batch.offsets[s], <=, most);
    std::iota(positions.begin() + batch.offsets[s], positions.begin() + batch.offsets[s + 1], std::int64_t{0});
  }
  return positions;
}

}  // namespace

at::Tensor embed(const PackedBatch& batch, const at::Tensor& token, const at::Tensor& position) {
  const at::Tensor ids = at::tensor(batch.inputs, at::kLong);
  const at::Tensor positions = at::tensor(positions_within_samples(batch, position.size(0)), at::kLong);
  return at::embedding(token, ids) + at::embedding(position, positions);
}

}  // namespace samegrad
