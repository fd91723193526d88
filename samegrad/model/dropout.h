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

  /// The operation's random numbers, for kernels that apply them themselves. Requires active(). Local.
  KeyedMask numbers(DropoutOperation operation) const;

  /// The mask of a tensor of that shape: 0 with the probability, else 1 / (1 - probability); undefined where not
  /// active(). Element i (in row-major order) is the mask's element first_element + i: operations on parts of one whole
  /// number them apart. Which are 0 does not depend on the type. Local.
  std::optional<at::Tensor> mask(at::IntArrayRef shape, at::ScalarType type, DropoutOperation operation,
                                 std::int64_t first_element = 0) const;

  /// x times its mask. Local.
  at::Tensor operator()(const at::Tensor& x, DropoutOperation operation, std::int64_t first_element = 0) const;

 private:
  double probability_;
  std::optional<DropoutKey> key_;
};

}  // namespace samegrad
