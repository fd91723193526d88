// Dropout whose masks are keyed, not drawn: a mask element depends on (seed, update, atom, operation, element) alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "samegrad/kernels/keyed_mask.h"
#include "samegrad/model/model.h"

namespace samegrad {

/// The four places of a Transformer layer where dropout acts, as in nn.TransformerEncoderLayer.
enum class DropoutPlace : std::int64_t {
  kAttentionWeights = 0,
  kAttention = 1,
  kInnerFeedForward = 2,
  kFeedForward = 3
};
inline constexpr std::int64_t kDropoutPlaces = 4;

/// The number that keys one dropout operation of a model: layer x 4 + place.
struct DropoutOperation {
  std::int64_t layer = 0;
  DropoutPlace place = DropoutPlace::kAttentionWeights;

  std::int64_t number() const { return layer * kDropoutPlaces + static_cast<std::int64_t>(place); }
};

/// Inverted dropout for one forward pass; without a key, or with probability 0, the identity. Local.
class Dropout {
 public:
  /// Requires 0 <= probability < 1.
  Dropout(double probability, const std::optional<DropoutKey>& key);

  bool active() const { return key_.has_value(); }

  /// The operation's mask, for kernels that apply it themselves. Requires active().
  KeyedMask mask(DropoutOperation operation) const;

  /// x with each element kept and divided by (1 - probability), or zeroed with that probability. Element i of `x` (in
  /// row-major order) takes the mask's element first_element + i: operations on parts of one whole number them apart.
  at::Tensor operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element = 0) const;

 private:
  double probability_;
  std::optional<DropoutKey> key_;
};

}  // namespace samegrad
