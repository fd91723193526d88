// Every set of instructions that this processor has adds and divides to the same bits as a plain loop.
#include "samegrad/kernels/gradient_sum.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "samegrad/kernels/isa.h"

namespace samegrad {

// As gradient_sum.cpp declares them.
#define DECLARE_VARIANT(isa)                                           \
  namespace isa {                                                      \
  decltype(samegrad::add_floats) add_floats;                           \
  decltype(samegrad::add_doubles) add_doubles;                         \
  decltype(samegrad::multiply_floats) multiply_floats;                 \
  decltype(samegrad::divide_floats) divide_floats;                     \
  decltype(samegrad::divide_doubles) divide_doubles;                   \
  decltype(samegrad::divide_floats_in_double) divide_floats_in_double; \
  }
DECLARE_VARIANT(portable)
DECLARE_VARIANT(avx2)
DECLARE_VARIANT(avx512)
#undef DECLARE_VARIANT

namespace {

struct Variant {
  Isa isa;
  decltype(add_floats)* add;
  decltype(add_doubles)* add_wide;
  decltype(multiply_floats)* multiply;
  decltype(divide_floats)* divide;
  decltype(divide_doubles)* divide_wide;
  decltype(divide_floats_in_double)* divide_in_double;
};

#define VARIANT(name, isa)                                                                                  \
  Variant {                                                                                                 \
    name, isa::add_floats, isa::add_doubles, isa::multiply_floats, isa::divide_floats, isa::divide_doubles, \
        isa::divide_floats_in_double                                                                        \
  }

std::vector<Variant> variants() {
  std::vector<Variant> all{VARIANT(Isa::kPortable, portable)};
  if (best_isa("") >= Isa::kAvx2) all.push_back(VARIANT(Isa::kAvx2, avx2));
  if (best_isa("") >= Isa::kAvx512) all.push_back(VARIANT(Isa::kAvx512, avx512));
  return all;
}

template <typename Element>
std::vector<Element> drawn(std::mt19937& random, std::size_t count) {
  using Limits = std::numeric_limits<Element>;
  const std::array<Element, 6> special{Element{-0.0}, Element{0.0},   Limits::denorm_min(),
                                       Limits::max(), -Limits::max(), Limits::infinity()};
  std::vector<Element> values(count);
  for (Element& value : values) {
    const auto choice = random();
    value = choice % 5 == 0 ? special[choice / 5 % special.size()]
                            : std::ldexp(static_cast<Element>(static_cast<std::int32_t>(random())),
                                         static_cast<int>(choice / 5 % 60) - 45);
  }
  return values;
}

template <typename Element>
void expect_same_bits(const std::vector<Element>& a, const std::vector<Element>& b, const char* what, Isa isa) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::isnan(a[i]) ? std::isnan(b[i]) : a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i]);
    ASSERT_TRUE(same) << what << ", " << isa_name(isa) << ", element " << i << " of " << a.size() << ": " << a[i]
                      << " and " << b[i];
  }
}

/// `kernel` on a copy of `values`, beside `each` on every element.
template <typename Element>
void compare(std::vector<Element> values, const std::function<void(Element*, std::int64_t)>& kernel,
             const std::function<Element(Element)>& each, const char* what, Isa isa) {
  std::vector<Element> expected = values;
  for (Element& value : expected) value = each(value);
  kernel(values.data(), static_cast<std::int64_t>(values.size()));
  expect_same_bits(values, expected, what, isa);
}

TEST(GradientSum, HasTheBitsOfAPlainLoopForEverySetOfInstructionsAndEveryLength) {
  std::mt19937 random(31);
  for (const Variant& variant : variants()) {
    for (std::size_t count = 0; count < 70; ++count) {
      const auto floats = drawn<float>(random, count);
      const auto others = drawn<float>(random, count);
      const auto doubles = drawn<double>(random, count);
      const auto other_doubles = drawn<double>(random, count);
      std::vector<float> sum = floats;
      std::vector<float> expected(count);
      for (std::size_t i = 0; i < count; ++i) expected[i] = floats[i] + others[i];
      variant.add(sum.data(), others.data(), sum.data(), static_cast<std::int64_t>(count));
      expect_same_bits(sum, expected, "sum of floats into the left", variant.isa);
      sum = others;
      variant.add(floats.data(), sum.data(), sum.data(), static_cast<std::int64_t>(count));
      expect_same_bits(sum, expected, "sum of floats into the right", variant.isa);
      std::vector<double> wide(count);
      std::vector<double> expected_wide(count);
      for (std::size_t i = 0; i < count; ++i) expected_wide[i] = doubles[i] + other_doubles[i];
      variant.add_wide(doubles.data(), other_doubles.data(), wide.data(), static_cast<std::int64_t>(count));
      expect_same_bits(wide, expected_wide, "sum of doubles", variant.isa);
      compare<float>(
          floats, [&](float* v, std::int64_t n) { variant.multiply(v, 0.125F, n); }, [](float v) { return v * 0.125F; },
          "product", variant.isa);
      compare<float>(
          floats, [&](float* v, std::int64_t n) { variant.divide(v, 2204.0F, n); },
          [](float v) { return static_cast<float>(static_cast<double>(v) / 2204.0); }, "quotient", variant.isa);
      compare<float>(
          floats, [&](float* v, std::int64_t n) { variant.divide_in_double(v, 0.1, n); },
          [](float v) { return static_cast<float>(static_cast<double>(v) / 0.1); }, "quotient by a double",
          variant.isa);
      compare<double>(
          doubles, [&](double* v, std::int64_t n) { variant.divide_wide(v, 2204.0, n); },
          [](double v) { return v / 2204.0; }, "quotient of doubles", variant.isa);
    }
  }
}

}  // namespace
}  // namespace samegrad
