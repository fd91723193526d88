// The kernels' 2^x is right to 2 units in the last place on its whole range, for every set of instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "samegrad/kernels/isa.h"

namespace samegrad {

template <typename Element>
using Powers = void(const Element* x, Element* result);
namespace portable {
Powers<float> powers_of_two;
Powers<double> powers_of_two;
}  // namespace portable
namespace avx2 {
Powers<float> powers_of_two;
Powers<double> powers_of_two;
}  // namespace avx2
namespace avx512 {
Powers<float> powers_of_two;
Powers<double> powers_of_two;
}  // namespace avx512

namespace {

template <typename Element>
std::vector<Powers<Element>*> kernels_of_processor() {
  std::vector<Powers<Element>*> all{portable::powers_of_two, avx2::powers_of_two, avx512::powers_of_two};
  all.resize(static_cast<std::size_t>(best_isa("")) + 1);
  return all;
}

template <typename Element>
Element power(Powers<Element>* kernel, Element x) {
  Element given[16] = {x};
  Element result[16] = {};
  kernel(given, result);
  return result[0];
}

/// The most units in the last place by which 2^x is off, over x from `least` to 1.
template <typename Element>
long double worst_error(Powers<Element>* kernel, Element least, int values) {
  long double worst = 0;
  for (int i = 0; i < values; ++i) {
    const Element x = least + (1 - least) * (static_cast<Element>(i) / static_cast<Element>(values));
    const long double right = std::exp2(static_cast<long double>(x));
    const long double unit = std::ldexp(1.0L, std::ilogb(right) - std::numeric_limits<Element>::digits + 1);
    worst = std::max(worst, std::fabs(static_cast<long double>(power(kernel, x)) - right) / unit);
  }
  return worst;
}

template <typename Element>
class PowersOfTwo : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(PowersOfTwo, Elements);

TYPED_TEST(PowersOfTwo, AreRightToTwoUnitsInTheLastPlace) {
  const auto least = static_cast<TypeParam>(std::numeric_limits<TypeParam>::min_exponent - 1);
  for (Powers<TypeParam>* kernel : kernels_of_processor<TypeParam>()) {
    EXPECT_LT(worst_error<TypeParam>(kernel, least, 300'000), 2);
    EXPECT_LT(worst_error<TypeParam>(kernel, -1, 300'000), 2);
  }
}

TYPED_TEST(PowersOfTwo, AreOneAtZeroZeroFarBelowAndNotANumberOfOne) {
  constexpr auto kInfinity = std::numeric_limits<TypeParam>::infinity();
  for (Powers<TypeParam>* kernel : kernels_of_processor<TypeParam>()) {
    EXPECT_EQ(power<TypeParam>(kernel, 0), 1);
    EXPECT_EQ(power<TypeParam>(kernel, -2000), 0);
    EXPECT_EQ(power<TypeParam>(kernel, -1e30F), 0);
    EXPECT_EQ(power<TypeParam>(kernel, -kInfinity), 0);
    EXPECT_TRUE(std::isnan(power(kernel, std::numeric_limits<TypeParam>::quiet_NaN())));
  }
}

}  // namespace
}  // namespace samegrad
