// The samples of one atom as one sequence of tokens with offsets: no padding exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/data/sample.h"

namespace samegrad {

struct PackedBatch {
  std::vector<std::int64_t> inputs;   ///< [tokens]
  std::vector<std::int64_t> targets;  ///< [tokens], kIgnoreTarget where not supervised
  std::vector<std::int64_t> offsets;  ///< [samples + 1], offsets[0] = 0; sample s is offsets[s]..offsets[s+1]-1

  std::vector<double> weights{};  ///< [tokens], of each token's loss, 0 where not supervised; empty: all 1

  std::int64_t samples() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(inputs.size()); }
  std::int64_t supervised_tokens() const;
  /// Whether a supervised token weighs more than 0: else the batch has neither loss nor gradient.
  bool has_loss() const;
};

/// Packs samples in the order given; samples without inputs are left out. Local.
PackedBatch pack(std::span<const Sample> samples);

}  // namespace samegrad
