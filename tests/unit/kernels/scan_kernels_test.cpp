// Sums of squares, NaNs and hashes are the same for every set of instructions, length and address.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/kernels/element_scan.h"
#include "samegrad/kernels/xxh3.h"
#include "samegrad/kernels/xxh3_update.h"
#include "tests/unit/kernels/kernel_isas.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace samegrad {

using SquareSums = void(const float*, std::int64_t, double*);
template <typename Element>
using AnyNan = bool(const Element*, std::int64_t);
namespace portable {
SquareSums square_sums;
AnyNan<float> any_nan;
AnyNan<double> any_nan;
decltype(samegrad::xxh3_update) xxh3_update;
}  // namespace portable
namespace avx2 {
SquareSums square_sums;
AnyNan<float> any_nan;
AnyNan<double> any_nan;
decltype(samegrad::xxh3_update) xxh3_update;
}  // namespace avx2
namespace avx512 {
SquareSums square_sums;
AnyNan<float> any_nan;
AnyNan<double> any_nan;
decltype(samegrad::xxh3_update) xxh3_update;
}  // namespace avx512

namespace {

TEST(ElementScan, AddsTheSquaresOfEachLaneInTheirOrder) {
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) values.push_back(std::sin(static_cast<float>(i)) * std::pow(10.0F, i % 9));
  for (const auto& [isa, sums] : on_every_isa(portable::square_sums, avx2::square_sums, avx512::square_sums)) {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 31U, 64U, 4095U, 4096U}) {
      for (const std::size_t first : {0U, 1U}) {
        std::array<double, kSquareLanes> expected{};
        for (std::size_t i = 0; i < count; ++i) {
          expected[i % 8] += static_cast<double>(values[first + i]) * static_cast<double>(values[first + i]);
        }
        std::array<double, kSquareLanes> made;
        sums(values.data() + first, static_cast<std::int64_t>(count), made.data());
        EXPECT_EQ(made, expected) << isa << ", " << count;
      }
    }
  }
}

template <typename Element>
void finds_nan_wherever_it_is() {
  for (const auto& [isa, any] : on_every_isa<AnyNan<Element>>(portable::any_nan, avx2::any_nan, avx512::any_nan)) {
    for (const std::int64_t count : {0, 1, 5, 16, 33, 100}) {
      std::vector<Element> values(static_cast<std::size_t>(count), std::numeric_limits<Element>::infinity());
      EXPECT_FALSE(any(values.data(), count)) << isa << ", " << count;
      for (Element& value : values) {
        value = -std::numeric_limits<Element>::quiet_NaN();
        EXPECT_TRUE(any(values.data(), count)) << isa << ", " << &value - values.data() << " of " << count;
        value = Element(-1);
      }
    }
  }
}

TEST(ElementScan, FindsANanWhereverItIs) {
  finds_nan_wherever_it_is<float>();
  finds_nan_wherever_it_is<double>();
}

TEST(Xxh3, IsThatOfTheWholeHoweverItIsCut) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += static_cast<char>(i * i % 251);
  for (const auto& [isa, update] : on_every_isa(portable::xxh3_update, avx2::xxh3_update, avx512::xxh3_update)) {
    for (const std::size_t size : {0U, 1U, 16U, 240U, 241U, 1024U, 1025U, 16'384U, 39'999U}) {
      for (const std::size_t piece : {1U, 63U, 256U, 4096U, 16'384U, 65'536U}) {
        XXH3_state_t state;
        XXH3_128bits_reset(&state);
        const std::string_view whole = std::string_view(text).substr(1, size);
        for (std::size_t i = 0; i < size; i += piece) {
          const std::string_view part = whole.substr(i, piece);
          update(&state, part.data(), part.size());
        }
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
        EXPECT_EQ(hexadecimal(canonical.digest), xxh3_128_hex(whole)) << isa << ", " << size << ", " << piece;
      }
    }
  }
}

TEST(Xxh3, OfPiecesEqualsTheOneOfTheWhole) {
  Xxh3 hash;
  EXPECT_EQ(hash.hex(), xxh3_128_hex(""));
  for (const std::size_t piece : {1U, 0U, 200U, 799U}) hash.update(std::string(piece, 'a'));
  EXPECT_EQ(hash.hex(), xxh3_128_hex(std::string(1000, 'a')));
}

}  // namespace
}  // namespace samegrad
