#include "samegrad/model/inverse_normal.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace samegrad {
namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr int kLogTerms = 15;

// PPND7's rational functions of 0.425^2 - q^2 in the centre, of sqrt(-ln p) - 1.6 in the tails.
constexpr std::array kCentreTop{3.3871327179, 50.434271938, 159.29113202, 59.109374720};
constexpr std::array kCentreBottom{1.0, 17.895169469, 78.757757664, 67.187563600};
constexpr std::array kTailTop{1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103};
constexpr std::array kTailBottom{1.0, 0.73700164250, 0.12021132975};

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double value = 0.0;
  for (std::size_t i = N; i-- > 0;) value = value * x + coefficients[i];
  return value;
}

/// Natural logarithm of a normal positive double: x = m 2^e with m in [1, 2) and
/// ln m = 2 artanh(y) = 2 (y + y^3/3 + y^5/5 + ...), y = (m-1)/(m+1) <= 1/3. Fifteen terms leave less than 1e-15.
double plain_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52) - 1023;
  const auto m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  const double y = (m - 1.0) / (m + 1.0);
  double series = 0.0;
  for (int k = kLogTerms - 1; k >= 0; --k) series = series * (y * y) + 1.0 / (2.0 * k + 1.0);
  return exponent * kLn2 + 2.0 * y * series;
}

}  // namespace

double inverse_normal(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentreTop, r) / polynomial(kCentreBottom, r);
  }
  const double r = std::sqrt(-plain_log(q < 0.0 ? p : 1.0 - p)) - 1.6;
  const double z = polynomial(kTailTop, r) / polynomial(kTailBottom, r);
  return q < 0.0 ? -z : z;
}

}  // namespace samegrad
