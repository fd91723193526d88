// Least and largest of the finite values seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace samegrad::svg {

struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  /// Values that are not finite are left out.
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

}  // namespace samegrad::svg
