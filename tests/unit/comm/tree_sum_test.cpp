#include "samegrad/comm/tree_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

template <typename Element>
using Values = std::vector<Element>;

/// T(begin, end) as the contract says it, without anything of samegrad.
template <typename Element>
Values<Element> literal_tree(const std::vector<Values<Element>>& atoms, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return atoms[begin];
  std::size_t power = 1;
  while (power * 2 < end - begin) power *= 2;
  Values<Element> left = literal_tree(atoms, begin, begin + power);
  const Values<Element> right = literal_tree(atoms, begin + power, end);
  for (std::size_t k = 0; k < left.size(); ++k) left[k] = left[k] + right[k];
  return left;
}

template <typename Element>
std::vector<Values<Element>> random_atoms(std::mt19937& random, std::size_t atoms, std::size_t elements) {
  std::normal_distribution<Element> normal;
  std::vector<Values<Element>> drawn(atoms, Values<Element>(elements));
  for (Values<Element>& atom : drawn) std::ranges::generate(atom, [&] { return normal(random); });
  return drawn;
}

/// Nodes of the tree that cover it: cut wherever the dice say.
void cut(std::mt19937& random, AtomRange node, std::vector<AtomRange>& leaves) {
  if (node.size() == 1 || random() % 3 == 0) {
    leaves.push_back(node);
    return;
  }
  const std::int64_t middle = node.begin + tree_split(node.size());
  cut(random, {node.begin, middle}, leaves);
  cut(random, {middle, node.end}, leaves);
}

template <typename Element>
void expect_tree_for_random_leaves(std::uint32_t seed) {
  std::mt19937 random(seed);
  for (int trial = 0; trial < 150; ++trial) {
    const std::size_t elements = trial % 3 == 0 ? random() % 5 : random() % 3'000;  // blocks of 1,024
    const auto atoms = random_atoms<Element>(random, random() % 20 + 1, elements);
    std::vector<AtomRange> nodes;
    cut(random, {0, static_cast<std::int64_t>(atoms.size())}, nodes);
    std::vector<Values<Element>> sums;
    for (const AtomRange& node : nodes) {
      sums.push_back(literal_tree(atoms, static_cast<std::size_t>(node.begin), static_cast<std::size_t>(node.end)));
    }
    Values<Element> expected = literal_tree(atoms, 0, atoms.size());
    for (Element& value : expected) value = static_cast<Element>(static_cast<double>(value) / 48.5);
    std::vector<const Element*> leaves;
    for (const Values<Element>& sum : sums) leaves.push_back(sum.data());
    Values<Element> other(elements, Element{7});
    Values<Element>& first = sums[random() % sums.size()];  // a result may be a leaf
    const std::array<Element*, 2> results{first.data(), other.data()};
    TreeSum<Element>(nodes).run(leaves, results, static_cast<std::int64_t>(elements), 48.5);
    ASSERT_EQ(first, expected) << nodes.size() << " leaves, " << elements << " elements";
    ASSERT_EQ(other, expected);
  }
}

TEST(TreeSum, EqualsTheLiteralTreeBitForBitForRandomLeavesInFloats) { expect_tree_for_random_leaves<float>(41); }
TEST(TreeSum, EqualsTheLiteralTreeBitForBitForRandomLeavesInDoubles) { expect_tree_for_random_leaves<double>(42); }

TEST(TreeSum, AddsAMissingLeafAsPlusZero) {
  const std::vector<AtomRange> nodes{{0, 1}, {1, 2}};
  const float minus_zero = -0.0F;
  float sum = 7.0F;
  float* const result = &sum;
  TreeSum<float> tree(nodes);
  tree.run(std::array<const float*, 2>{&minus_zero, nullptr}, std::span(&result, 1), 1, 1.0);
  EXPECT_FALSE(std::signbit(sum));
  tree.run(std::array<const float*, 2>{nullptr, nullptr}, std::span(&result, 1), 1, 1.0);
  EXPECT_EQ(sum, 0.0F);
}

// The control: if other orders gave the same bits, the tests above could not tell orders apart.
TEST(TreeSum, DiffersFromSumsFromLeftToRight) {
  std::mt19937 random(43);
  const auto atoms = random_atoms<float>(random, 5, 1'000);
  std::vector<AtomRange> nodes;
  std::vector<const float*> leaves;
  Values<float> chain(1'000, 0.0F);
  for (std::int64_t a = 0; a < 5; ++a) {
    nodes.push_back({a, a + 1});
    leaves.push_back(atoms[static_cast<std::size_t>(a)].data());
    for (std::size_t k = 0; k < chain.size(); ++k) chain[k] += leaves.back()[k];
  }
  Values<float> sum(1'000);
  float* const result = sum.data();
  TreeSum<float>(nodes).run(leaves, std::span(&result, 1), 1'000, 1.0);
  EXPECT_NE(sum, chain);
}

TEST(TreeSum, RefusesLeavesThatDoNotCoverTheTree) {
  EXPECT_THROW(TreeSum<float>(std::vector<AtomRange>{{0, 1}, {2, 3}}), std::exception);
  EXPECT_THROW(TreeSum<float>(std::vector<AtomRange>{}), std::exception);
}

}  // namespace
}  // namespace samegrad
