// Sixteen floats as the registers that the processor has: one, two or four, so that a sum has the same order for every
// set of instructions. (g++ keeps one vector that is longer than a register in memory.)
//
// For kernel files only (isa.h): everything here is of the file that includes it.
#pragma once

#include "samegrad/kernels/registers.h"

namespace samegrad::SAMEGRAD_ISA {

using WideRegister = Register<float>;
inline constexpr int kWideFloats = 16;
inline constexpr std::int64_t kRegisterFloats = kWidth<float>;
inline constexpr int kWideRegisters = kWideFloats / kRegisterFloats;

struct Wide {
  WideRegister parts[kWideRegisters];
};

[[gnu::always_inline]] static inline Wide wide_of(float value) {
  Wide wide;
#pragma GCC unroll 4
  for (WideRegister& part : wide.parts) part = WideRegister{} + value;
  return wide;
}

[[gnu::always_inline]] static inline Wide operator+(const Wide& a, const Wide& b) {
  Wide wide;
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) wide.parts[i] = a.parts[i] + b.parts[i];
  return wide;
}

[[gnu::always_inline]] static inline Wide operator-(const Wide& a, const Wide& b) {
  Wide wide;
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) wide.parts[i] = a.parts[i] - b.parts[i];
  return wide;
}

[[gnu::always_inline]] static inline Wide operator*(const Wide& a, const Wide& b) {
  Wide wide;
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) wide.parts[i] = a.parts[i] * b.parts[i];
  return wide;
}

/// The greater of each two; a NaN of b stays, one of a does not.
[[gnu::always_inline]] static inline Wide greater_of(const Wide& a, const Wide& b) {
  Wide wide;
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) wide.parts[i] = a.parts[i] > b.parts[i] ? a.parts[i] : b.parts[i];
  return wide;
}

/// `count` values, all 16 if there are as many; the others are `rest`.
[[gnu::always_inline]] static inline Wide load_wide(const float* from, std::int64_t count, float rest = 0.0F) {
  Wide wide;
  if (count >= kWideFloats) {
#pragma GCC unroll 4
    for (int i = 0; i < kWideRegisters; ++i) {
      __builtin_memcpy(&wide.parts[i], from + i * kRegisterFloats, sizeof(WideRegister));
    }
    return wide;
  }
  float values[kWideFloats];
  for (std::int64_t i = 0; i < kWideFloats; ++i) values[i] = i < count ? from[i] : rest;
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) {
    __builtin_memcpy(&wide.parts[i], values + i * kRegisterFloats, sizeof(WideRegister));
  }
  return wide;
}

/// The first `count` values, or all 16.
[[gnu::always_inline]] static inline void store_wide(float* to, std::int64_t count, const Wide& wide) {
  if (count >= kWideFloats) {
#pragma GCC unroll 4
    for (int i = 0; i < kWideRegisters; ++i) {
      __builtin_memcpy(to + i * kRegisterFloats, &wide.parts[i], sizeof(WideRegister));
    }
    return;
  }
  float values[kWideFloats];
#pragma GCC unroll 4
  for (int i = 0; i < kWideRegisters; ++i) {
    __builtin_memcpy(values + i * kRegisterFloats, &wide.parts[i], sizeof(WideRegister));
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = values[i];
}

/// The sum of the 16: halves are added, then quarters, and so on, whatever the registers.
[[gnu::always_inline]] static inline float sum_of(const Wide& wide) {
  using Four [[gnu::vector_size(16)]] = float;
  Four four;
#if defined(__AVX512F__)
  const WideRegister all = wide.parts[0];
  const WideRegister eight =
      all + __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#elif defined(__AVX2__)
  const WideRegister eight = wide.parts[0] + wide.parts[1];
  four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#else
  four = (wide.parts[0] + wide.parts[2]) + (wide.parts[1] + wide.parts[3]);
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

}  // namespace samegrad::SAMEGRAD_ISA
