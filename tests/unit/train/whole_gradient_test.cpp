#include "samegrad/train/whole_gradient.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "samegrad/base/digest.h"

namespace samegrad {
namespace {

// Two parameters with a gap between them in the flat block.
FlatLayout small_layout() { return FlatLayout({{"a", {3}}, {"b", {2, 5000}}}); }

TEST(WholeGradient, NormLeavesTheGapsOfTheLayoutOut) {
  const FlatLayout layout = small_layout();
  std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 100.0F);  // the gaps hold 100
  for (const ParameterPlace& place : layout.places()) {
    std::fill_n(flat.begin() + place.offset, place.elements, 0.0F);
  }
  flat[0] = 3.0F;
  flat[static_cast<std::size_t>(layout.places()[1].offset + 9999)] = 4.0F;
  EXPECT_EQ(euclidean_norm(layout, flat), 5.0);
}

TEST(WholeGradient, NormIsNotFiniteWhereAnElementIsNot) {
  const FlatLayout layout = small_layout();
  std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1.0F);
  flat[2] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(euclidean_norm(layout, flat)));
  flat[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(euclidean_norm(layout, flat)));
}

TEST(WholeGradient, HashSeesOneBitOfAnyElementAndNothingOfTheGaps) {
  const FlatLayout layout = small_layout();
  std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1.0F);
  const std::string hash = elements_hash(layout, flat);
  flat[5] = 7.0F;  // a gap
  EXPECT_EQ(elements_hash(layout, flat), hash);
  float& last = flat[static_cast<std::size_t>(layout.places()[1].offset + 9999)];
  last = std::bit_cast<float>(std::bit_cast<std::uint32_t>(last) ^ 1U);
  EXPECT_NE(elements_hash(layout, flat), hash);
}

// The hash is that of the elements one after the other, however they are cut into blocks.
TEST(WholeGradient, HashIsThatOfAllElementsInOnePiece) {
  for (const std::int64_t elements : {1, 4093, 4094, 4096, 8192, 20'000}) {
    const FlatLayout layout({{"a", {3}}, {"b", {elements}}});
    std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), -1.0F);
    std::vector<float> joined;
    for (const ParameterPlace& place : layout.places()) {
      for (std::int64_t i = 0; i < place.elements; ++i) {
        joined.push_back(std::sin(static_cast<float>(place.offset + i)));
        flat[static_cast<std::size_t>(place.offset + i)] = joined.back();
      }
    }
    EXPECT_EQ(elements_hash(layout, flat),
              xxh3_128_hex({reinterpret_cast<const char*>(joined.data()), joined.size() * sizeof(float)}));
  }
}

TEST(WholeGradient, HashTakesEveryNanForTheSameOne) {
  const FlatLayout layout = small_layout();
  std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1.0F);
  flat[0] = std::bit_cast<float>(0x7FC00000U);
  const std::string hash = elements_hash(layout, flat);
  flat[0] = std::bit_cast<float>(0xFFC12345U);
  EXPECT_EQ(elements_hash(layout, flat), hash);
}

// a norm of 0.8 stays, a norm of 2.0 is scaled by 0.5 under a limit of 1.
TEST(WholeGradient, ClippingTouchesOnlyNormsAboveTheLimit) {
  std::vector<float> flat{0.8F, 0.0F};
  EXPECT_EQ(clip_by_norm(flat, 0.8, 1.0), 1.0);
  EXPECT_EQ(flat[0], 0.8F);
  flat = {2.0F, 0.0F};
  EXPECT_EQ(clip_by_norm(flat, 2.0, 1.0), 0.5);
  EXPECT_EQ(flat[0], 1.0F);
  flat = {2.0F, 0.0F};
  EXPECT_EQ(clip_by_norm(flat, 2.0, 0.0), 1.0) << "0 means no clipping";
  EXPECT_EQ(flat[0], 2.0F);
}

}  // namespace
}  // namespace samegrad
