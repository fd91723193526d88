// One register of floats or doubles, as wide as the set of instructions has it, and what kernels do with whole
// registers. Its width depends on the set, and so does the order of sums over columns.
//
// For kernel files only (isa.h): everything here is of the file that includes it.
#pragma once

#include <cstdint>

namespace samegrad::SAMEGRAD_ISA {

#if defined __AVX512F__
static constexpr int kRegisterBytes = 64;
#elif defined __AVX2__
static constexpr int kRegisterBytes = 32;
#else
static constexpr int kRegisterBytes = 16;
#endif

template <typename Element>
struct RegisterOf;
template <>
struct RegisterOf<float> {
  using Values [[gnu::vector_size(kRegisterBytes)]] = float;
  using Bit = std::int32_t;
  using Bits [[gnu::vector_size(kRegisterBytes)]] = Bit;
  using Unsigned [[gnu::vector_size(kRegisterBytes)]] = std::uint32_t;
};
template <>
struct RegisterOf<double> {
  using Values [[gnu::vector_size(kRegisterBytes)]] = double;
  using Bit = std::int64_t;
  using Bits [[gnu::vector_size(kRegisterBytes)]] = Bit;
  using Unsigned [[gnu::vector_size(kRegisterBytes)]] = std::uint64_t;
};
template <typename Element>
using Register = typename RegisterOf<Element>::Values;
template <typename Element>
using RegisterBits = typename RegisterOf<Element>::Bits;

/// Elements of one register.
template <typename Element>
static constexpr int kWidth = kRegisterBytes / static_cast<int>(sizeof(Element));

/// A whole register, at any address.
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> load_register(const Element* from) {
  Register<Element> values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
}
template <typename Element>
[[gnu::always_inline]] static inline void store_register(Element* to, Register<Element> values) {
  __builtin_memcpy(to, &values, sizeof values);
}

/// All elements the same. (0 + value would be an addition: it changes -0.)
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> every(Element value) {
  return value - Register<Element>{};
}

/// The first `count` elements from memory, which ends there; 0 in the others.
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> load_first(const Element* from, std::int64_t count) {
  if (count >= kWidth<Element>) return load_register(from);
  Register<Element> values{};
  for (std::int64_t i = 0; i < count; ++i) values[i] = from[i];
  return values;
}
template <typename Element>
[[gnu::always_inline]] static inline void store_first(Element* to, Register<Element> values, std::int64_t count) {
  if (count >= kWidth<Element>) return store_register(to, values);
  for (std::int64_t i = 0; i < count; ++i) to[i] = values[i];
}

/// 0, 1, 2, ...
template <typename Element>
[[gnu::always_inline]] static inline RegisterBits<Element> places() {
  RegisterBits<Element> values;
  for (int i = 0; i < kWidth<Element>; ++i) values[i] = i;
  return values;
}

/// The lower, or upper, halves' elements of two registers in turn.
template <typename Values>
[[gnu::always_inline]] static inline Values interleave_lower(Values a, Values b) {
  constexpr int kElements = sizeof(Values) / sizeof(a[0]);
  if constexpr (kElements == 16) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  } else if constexpr (kElements == 8) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  } else if constexpr (kElements == 4) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  } else {
    return __builtin_shufflevector(a, b, 0, 2);
  }
}
template <typename Values>
[[gnu::always_inline]] static inline Values interleave_upper(Values a, Values b) {
  constexpr int kElements = sizeof(Values) / sizeof(a[0]);
  if constexpr (kElements == 16) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  } else if constexpr (kElements == 8) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else if constexpr (kElements == 4) {
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else {
    return __builtin_shufflevector(a, b, 1, 3);
  }
}

/// Rows `i` and `i + kWidth / 2` become rows `2 i` and `2 i + 1`, their elements in turn: log2(kWidth) times over, that
/// is the transposed square.
template <typename Element>
[[gnu::always_inline]] static inline void transpose_square(Register<Element> (&rows)[kWidth<Element>]) {
  constexpr int kSide = kWidth<Element>;
#pragma GCC unroll 4
  for (int stride = 1; stride < kSide; stride *= 2) {
    Register<Element> next[kSide];
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave_lower(rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = interleave_upper(rows[i], rows[i + kSide / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) rows[i] = next[i];
  }
}

/// What exp2_register needs: 2^r = 1 + r (c[0] + c[1] r + ...) for |r| <= 1/2, interpolated at Chebyshev's nodes
/// (relative error of the polynomial: 5e-9, 1e-19); an addend that leaves the nearest integer in the lowest bits.
template <typename Element>
struct PowerOfTwo;
template <>
struct PowerOfTwo<float> {
  static constexpr float kCoefficients[] = {0.69314718802622878F,   0.24022650760568127F,   0.055503571142190779F,
                                            0.0096180825572778515F, 0.0013390863364671235F, 0.00015453162945120690F};
  static constexpr float kRounding = 0x1.8p23F;
  static constexpr int kMantissaBits = 23;
  static constexpr float kLeast = -126.0F;
};
template <>
struct PowerOfTwo<double> {
  static constexpr double kCoefficients[] = {
      0.69314718055994530925,   0.24022650695910071233,    0.055504108664821627039,    0.0096181291076284794928,
      0.0013333558146406470697, 0.00015403530393370733411, 0.000015252733841556772589, 1.321548680870556279e-6,
      1.0178057087733941105e-7, 7.0548973041554992774e-9,  4.455817908336064493e-10,   2.5729324177362304214e-11};
  static constexpr double kRounding = 0x1.8p52;
  static constexpr int kMantissaBits = 52;
  static constexpr double kLeast = -1022.0;
};

/// 2^x within 2 units in the last place, for x up to 1; 0 below the exponent of the least normal number; NaN for NaN.
template <typename Element>
[[gnu::always_inline]] static inline Register<Element> exp2_register(Register<Element> x) {
  using Power = PowerOfTwo<Element>;
  constexpr int kCount = sizeof Power::kCoefficients / sizeof(Element);
  const Register<Element> shifted = x + Power::kRounding;
  const Register<Element> rest = x - (shifted - Power::kRounding);
  Register<Element> sum = every(Power::kCoefficients[kCount - 1]);
#pragma GCC unroll 12
  for (int i = kCount - 2; i >= 0; --i) sum = sum * rest + Power::kCoefficients[i];
  sum = sum * rest + Element{1};
  using Bits = typename RegisterOf<Element>::Unsigned;  // below kLeast the sum wraps
  const auto scaled = reinterpret_cast<Register<Element>>(reinterpret_cast<Bits>(sum) +
                                                          (reinterpret_cast<Bits>(shifted) << Power::kMantissaBits));
  const Register<Element> other = x < Power::kLeast ? Register<Element>{} : x;
  return x >= Power::kLeast ? scaled : other;
}

}  // namespace samegrad::SAMEGRAD_ISA
