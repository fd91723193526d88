#include "samegrad/report/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace samegrad {
namespace {

// The longest: a double with 17 digits before the exponent, or 309 before the point.
using Buffer = std::array<char, 512>;

std::string to_text(double value, std::chars_format format, int digits) {
  if (std::isnan(value)) return "nan";
  Buffer buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, digits).ptr;
  return {buffer.data(), end};
}

// to_chars writes at least two digits: "1e-06" -> "1e-6".
std::string short_exponent(std::string text) {
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  const std::size_t digits = exponent + 2;
  while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string two_digits(std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

}  // namespace

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string fixed(double value, int digits) { return to_text(value, std::chars_format::fixed, digits); }

std::string scientific(double value, int digits) {
  if (value == 0.0) return "0";
  return short_exponent(to_text(value, std::chars_format::scientific, digits - 1));
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  Buffer buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return short_exponent({buffer.data(), end});
}

std::string percent(double fraction, int digits) { return fixed(100.0 * fraction, digits) + " %"; }

std::string times_mean(double ratio) { return fixed(ratio, 2) + " x the mean"; }

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be shown as 1024.0 of its unit.
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return (unit == 0 ? std::to_string(bytes) : fixed(value, 1)) + " " + kUnits.at(unit);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0) return "?";
  if (seconds < 0.9995) return fixed(1000.0 * seconds, seconds < 0.00995 ? 1 : 0) + " ms";
  if (seconds < 59.95) return fixed(seconds, 1) + " s";
  // A year of seconds is far below the range of int64; longer is no estimate any more.
  if (seconds > 3.2e7) return "over a year";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  if (whole >= 360000) return std::to_string(whole / 3600) + " h";
  return std::to_string(whole / 3600) + " h " + two_digits(whole % 3600 / 60) + " min";
}

}  // namespace samegrad
