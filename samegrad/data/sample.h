// One sample, ready for a model: inputs and, for each position, the target it must predict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace samegrad {

/// A target that is not supervised (PyTorch's ignore_index).
inline constexpr std::int32_t kIgnoreTarget = -100;

struct Sample {
  std::int64_t id = 0;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;  ///< same length as inputs; next-token targets are already shifted here
  double weight = 1.0;                ///< of the sample in the objective
  std::uint64_t document = 0;         ///< samples with the same number are one document; 0: one by itself

  /// Supervised units under `unit: token`: targets that are not ignored. Counted after the shift.
  std::int64_t supervised_tokens() const {
    return std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t != kIgnoreTarget; });
  }
};

}  // namespace samegrad
