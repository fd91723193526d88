// A model is parameters and a sum of losses over an atom.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/data/packed_batch.h"

namespace samegrad {

/// Keys every random draw of one forward pass: dropout masks depend on (seed, update, atom, operation, element) alone.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t update = 0;
  std::int64_t atom = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  /// Logits [tokens, choices] of the packed tokens. `dropout`: training; nullopt: evaluation. Local.
  virtual at::Tensor logits(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const = 0;

  /// S of the atom: sum of the cross-entropies of the supervised tokens, each times its weight (batch.weights), added
  /// up in double: a float64 scalar that can run backward (0 without supervised tokens). Local.
  at::Tensor loss_sum(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const;

  /// S, and beside it, from the same logits, the sum over the supervised tokens of logsumexp(logits)^2, each weighing
  /// 1: float64 scalars. Local.
  struct LossAndZ {
    at::Tensor loss;
    at::Tensor z;
  };
  LossAndZ loss_and_z_sums(const PackedBatch& batch, const std::optional<DropoutKey>& dropout) const;

 protected:
  /// The sums of a batch that has tokens; z is undefined without `with_z`. Local.
  virtual LossAndZ sums(const PackedBatch& batch, const std::optional<DropoutKey>& dropout, bool with_z) const = 0;
};

/// The config's model over `parameters` (in the order of parameter_specs(); float32 or float64; kept by reference to
/// their storage). Local.
std::unique_ptr<Model> make_model(const ModelConfig& config, std::vector<at::Tensor> parameters);

}  // namespace samegrad
