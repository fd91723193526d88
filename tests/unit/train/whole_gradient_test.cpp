#include "samegrad/train/whole_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/plan/atom_tree.h"

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
  EXPECT_EQ(norm_and_hash(layout, flat).norm, 5.0);
}

TEST(WholeGradient, NormIsNotFiniteWhereAnElementIsNot) {
  const FlatLayout layout = small_layout();
  std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1.0F);
  flat[2] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(norm_and_hash(layout, flat).norm));
  flat[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(norm_and_hash(layout, flat).norm));
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

// Rule 5, word for word: blocks of 4,096 elements in parameter order, gaps left out, lanes and blocks added by T.
double literal_norm(std::span<const float> elements) {
  std::vector<double> blocks;
  for (std::size_t first = 0; first < elements.size(); first += 4096) {
    std::array<double, 8> lanes{};
    for (std::size_t i = first; i < std::min(first + 4096, elements.size()); ++i) {
      lanes[(i - first) % 8] += static_cast<double>(elements[i]) * static_cast<double>(elements[i]);
    }
    blocks.push_back(tree_sum(lanes));
  }
  return std::sqrt(tree_sum(blocks));
}

TEST(WholeGradient, NormAndHashInOnePassAreThoseOfTheJoinedElements) {
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
           {1}, {4096}, {8192, 16}, {3, 4093, 5}, {16, 4080, 4096, 9000}, {5000, 5000, 7}, {0, 20, 0}, {}}) {
    std::vector<NamedShape> shapes;
    for (const std::int64_t size : sizes) shapes.push_back({std::to_string(shapes.size()), {size}});
    const FlatLayout layout(shapes);
    std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1e30F);  // in the gaps
    std::vector<float> joined;
    for (const ParameterPlace& place : layout.places()) {
      for (std::int64_t i = 0; i < place.elements; ++i) {
        joined.push_back(std::sin(static_cast<float>(joined.size())) * 1e-3F);
        flat[static_cast<std::size_t>(place.offset + i)] = joined.back();
      }
    }
    const NormAndHash found = norm_and_hash(layout, flat);
    EXPECT_EQ(found.norm, literal_norm(joined)) << testing::PrintToString(sizes);
    EXPECT_EQ(found.hash, elements_hash(layout, flat)) << testing::PrintToString(sizes);
  }
}

TEST(WholeGradient, HashOfTheOnePassTakesEveryNanForTheSameOneToo) {
  const FlatLayout layout({{"a", {3}}, {"b", {20'000}}});
  for (const std::int64_t place : {std::int64_t{0}, layout.places()[1].offset + 4092, layout.flat_elements() - 1}) {
    std::vector<float> flat(static_cast<std::size_t>(layout.flat_elements()), 1.0F);
    flat[static_cast<std::size_t>(place)] = std::bit_cast<float>(0x7FC00000U);
    const std::string hash = elements_hash(layout, flat);
    flat[static_cast<std::size_t>(place)] = std::bit_cast<float>(0xFFC12345U);
    EXPECT_EQ(norm_and_hash(layout, flat).hash, hash) << place;
    EXPECT_TRUE(std::isnan(norm_and_hash(layout, flat).norm)) << place;
  }
}

TEST(WholeGradient, OnlyNormsAboveTheLimitAreClipped) {
  EXPECT_EQ(clip_factor(0.8, 1.0), 1.0);
  EXPECT_EQ(clip_factor(1.0, 1.0), 1.0);
  EXPECT_EQ(clip_factor(2.0, 1.0), 0.5);
  EXPECT_EQ(clip_factor(2.0, 0.0), 1.0) << "0 means no clipping";
}

}  // namespace
}  // namespace samegrad
