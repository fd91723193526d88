// From data values to places on an axis, and where the ticks stand.
#pragma once

#include <string>
#include <vector>

namespace samegrad::svg {

struct Tick {
  double value = 0.0;
  std::string label;
};

/// A linear or logarithmic axis from `low` to `high`.
struct ChartScale {
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  std::vector<Tick> ticks;  ///< ascending, all within low..high

  /// 0 at low, 1 at high; outside values are moved to the nearer end. Not finite, or <= 0 on a logarithmic axis: 0.
  double fraction(double value) const;
};

/// 1, 2 or 5 times a power of ten: the smallest such step with which `span` holds at most `most_steps` steps.
double nice_step(double span, int most_steps);

/// Ticks at multiples of nice_step. `widen`: low and high move outwards to ticks. A range without width, or one that is
/// not finite, becomes one with width. Local.
ChartScale linear_scale(double low, double high, int most_ticks, bool widen);

/// As linear_scale without widening, with ticks at whole numbers only: for counted things. Local.
ChartScale whole_scale(double low, double high, int most_ticks);

/// Widened to whole powers of ten; ticks at powers of ten, thinned to at most `most_ticks`. Requires low > 0. Local.
ChartScale log_scale(double low, double high, int most_ticks);

}  // namespace samegrad::svg
