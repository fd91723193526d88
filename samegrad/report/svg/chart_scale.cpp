#include "samegrad/report/svg/chart_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "samegrad/report/number_text.h"

namespace samegrad::svg {
namespace {

// Digits after the point that a multiple of `step` needs.
int decimals_of(double step) { return std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))); }

std::string tick_label(double value, double step) {
  const double size = std::abs(value);
  if (step < 1e-6 || size >= 1e15) return scientific(value, 2);
  if (step >= 1.0) return grouped(std::llround(value));
  return fixed(value == 0.0 ? 0.0 : value, decimals_of(step));
}

std::string power_label(int exponent) {
  if (exponent >= -2 && exponent <= 4) return shortest(std::pow(10.0, exponent));
  return "1e" + std::to_string(exponent);
}

}  // namespace

double ChartScale::fraction(double value) const {
  if (!std::isfinite(value) || (logarithmic && value <= 0.0)) return 0.0;
  const double part = logarithmic ? (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low))
                                  : (value - low) / (high - low);
  return std::clamp(part, 0.0, 1.0);
}

double nice_step(double span, int most_steps) {
  const double exact = span / std::max(1, most_steps);
  const double power = std::pow(10.0, std::floor(std::log10(exact)));
  // The tolerance keeps 0.1 * 5 = 0.5 from becoming 1 through its last bit.
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= exact * (1.0 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

ChartScale linear_scale(double low, double high, int most_ticks, bool widen) {
  if (!std::isfinite(low) || !std::isfinite(high)) {
    low = 0.0;
    high = 1.0;
  }
  if (high < low) std::swap(low, high);
  // Narrower than a double can divide is no width.
  const double least = 1e-12 * std::max({1e-280, std::abs(low), std::abs(high)});
  if (!(high - low > least)) {
    const double half = low == 0.0 ? 0.5 : 0.05 * std::abs(low);
    low -= half;
    high += half;
  }
  ChartScale scale;
  // Widening adds up to one step at either end.
  const double step = nice_step(high - low, std::max(1, most_ticks - (widen ? 3 : 1)));
  scale.low = widen ? std::floor(low / step + 1e-9) * step : low;
  scale.high = widen ? std::ceil(high / step - 1e-9) * step : high;
  const double first = std::ceil(scale.low / step - 1e-9);
  const double last = std::floor(scale.high / step + 1e-9);
  for (double i = first; i <= last; i += 1.0) {
    const double value = std::clamp(i * step, scale.low, scale.high);
    scale.ticks.push_back({value, tick_label(i * step, step)});
  }
  return scale;
}

ChartScale whole_scale(double low, double high, int most_ticks) {
  ChartScale scale = linear_scale(low, high, most_ticks, /*widen=*/false);
  if (scale.ticks.size() > 1 && scale.ticks[1].value - scale.ticks[0].value >= 1.0) return scale;
  scale.ticks.clear();
  for (double value = std::ceil(scale.low); value <= scale.high; value += 1.0) {
    scale.ticks.push_back({value, grouped(std::llround(value))});
  }
  return scale;
}

ChartScale log_scale(double low, double high, int most_ticks) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  ChartScale scale{std::pow(10.0, first), std::pow(10.0, last), true, {}};
  const int every = (last - first) / std::max(1, most_ticks) + 1;
  for (int exponent = first; exponent <= last; exponent += every) {
    scale.ticks.push_back({std::pow(10.0, exponent), power_label(exponent)});
  }
  return scale;
}

}  // namespace samegrad::svg
