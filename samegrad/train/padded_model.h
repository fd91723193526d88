// The models once more, in the ordinary way: padded batches, ordinary operations. Shares no operation code with
// samegrad/model, so that the two can be held against each other.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "samegrad/config/run_config.h"

namespace samegrad {

class PaddedModel {
 public:
  virtual ~PaddedModel() = default;

  /// Logits [batch, length, choices]. ids: int64 [batch, length]; padding: bool [batch, length], true where there is no
  /// token; the first column is never padding. Local.
  virtual at::Tensor logits(const at::Tensor& ids, const at::Tensor& padding) const = 0;
  /// The model's own copies of the parameters, in the order of parameter_specs(); they require gradients. Local.
  virtual std::vector<at::Tensor> parameters() const = 0;
};

/// The lesson's model on torch::nn::TransformerEncoder, with copies of `parameters` in `dtype`. Local.
std::unique_ptr<PaddedModel> make_padded_encoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                                 at::ScalarType dtype);

/// The text model written out in elementary operations with an additive mask, with copies of `parameters` in `dtype`.
/// Local.
std::unique_ptr<PaddedModel> make_padded_decoder(const ModelConfig& config, const std::vector<at::Tensor>& parameters,
                                                 at::ScalarType dtype);

}  // namespace samegrad
