// A loss travels as (sum, count). A mean exists only in reports.
#pragma once

#include <cstdint>
#include <limits>

namespace samegrad {

struct LossSum {
  double sum = 0.0;        ///< S: sum of the unit losses
  std::int64_t count = 0;  ///< N: number of supervised units

  /// S / N for a report; NaN where nothing was counted, so that it cannot pass for a number.
  double mean() const {
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  }
};

}  // namespace samegrad
