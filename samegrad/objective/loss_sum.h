// A loss travels as (sum, count). A mean exists only in reports.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace samegrad {

struct LossSum {
  double sum = 0.0;                             ///< S: sum of the unit losses
  std::int64_t count = 0;                       ///< number of supervised units
  std::optional<double> weight = std::nullopt;  ///< their total weight, where they have weights

  /// N: what S is divided by, the number of units or their total weight.
  double divisor() const { return weight.value_or(static_cast<double>(count)); }
  /// S / N for a report; NaN where nothing was counted, so that it cannot pass for a number.
  double mean() const { return divisor() == 0.0 ? std::numeric_limits<double>::quiet_NaN() : sum / divisor(); }
};

}  // namespace samegrad
