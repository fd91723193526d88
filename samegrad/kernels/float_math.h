// Arithmetic on single floats for kernel files, in loops that the compiler makes vectors of: no branch, no table, no
// call. Forced inline, so that no object exports a copy.
#pragma once

#include <cstdint>

namespace samegrad {

/// a b + c with one rounding where the instructions have it, else with two: written out, so that it does not depend on
/// a value's place in a vector or on the compiler's choice, as contraction would.
[[gnu::always_inline]] static inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// e^(high + low) for high <= 0 and a small low, to about 1 ulp; 0 where high < -87; NaN for NaN. Cephes' polynomial
/// (Moshier, expf).
[[gnu::always_inline]] static inline float exponential(float high, float low) {
  constexpr float kShift = 12582912.0F;  // 1.5 x 2^23: what is added to it is rounded to an integer
  const float shifted = multiply_add(high, 1.44269504F, kShift);
  const float exponent = shifted - kShift;
  const float r = multiply_add(exponent, -0.693359375F, high) + multiply_add(exponent, 2.12194440e-4F, low);
  float p = 1.9875691500e-4F;
  p = multiply_add(p, r, 1.3981999507e-3F);
  p = multiply_add(p, r, 8.3334519073e-3F);
  p = multiply_add(p, r, 4.1665795894e-2F);
  p = multiply_add(p, r, 1.6666665459e-1F);
  p = multiply_add(p, r, 5.0000001201e-1F);
  p = multiply_add(p, r * r, r) + 1.0F;
  std::uint32_t bits = 0;  // unsigned: far below -87 the sum wraps
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (127U << 23);
  float power = 0.0F;
  __builtin_memcpy(&power, &bits, sizeof power);
  const float value = p * power;
  return high < -87.0F ? 0.0F : value;
}

}  // namespace samegrad
