// Numbers as a person reads them. Independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace samegrad {

/// 282628 -> "282,628".
std::string grouped(std::int64_t value);

/// `digits` after the point: (1.31525, 3) -> "1.315". NaN and infinities -> "nan", "inf", "-inf".
std::string fixed(double value, int digits);

/// `digits` significant ones, scientific: (3.73e-8, 3) -> "3.73e-8"; zero -> "0".
std::string scientific(double value, int digits);

/// The shortest text that reads back to the same double: 0.1 -> "0.1", 1e-6 -> "1e-6".
std::string shortest(double value);

/// A fraction as percent: (0.3622, 2) -> "36.22 %".
std::string percent(double fraction, int digits);

/// The largest over the mean: 1.0171 -> "1.02 x the mean".
std::string times_mean(double ratio);

/// 999 -> "999 B", 1572864 -> "1.5 MiB".
std::string bytes_text(std::int64_t bytes);

/// Seconds: 0.0421 -> "42 ms", 3.21 -> "3.2 s", 75 -> "1 min 15 s", 4000 -> "1 h 06 min", 400000 -> "111 h".
std::string duration_text(double seconds);

}  // namespace samegrad
