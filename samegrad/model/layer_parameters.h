// The parameters of one Transformer layer, by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace samegrad {

struct LinearParameters {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out]
};

struct NormParameters {
  at::Tensor weight;  ///< [width]
  at::Tensor bias;    ///< [width]
};

struct LayerParameters {
  LinearParameters in_projection;  ///< queries, keys and values below one another: [3 width, width]
  LinearParameters out_projection;
  LinearParameters linear1;
  LinearParameters linear2;
  NormParameters norm1;
  NormParameters norm2;
};

/// Hands out the parameters of a model in the order of parameter_specs(). Local.
class ParameterCursor {
 public:
  explicit ParameterCursor(std::span<const at::Tensor> parameters) : parameters_(parameters) {}

  at::Tensor tensor();
  LinearParameters linear();
  NormParameters norm();
  LayerParameters layer();
  std::vector<LayerParameters> layers(std::int64_t count);

 private:
  std::span<const at::Tensor> parameters_;
  std::size_t next_ = 0;
};

}  // namespace samegrad
