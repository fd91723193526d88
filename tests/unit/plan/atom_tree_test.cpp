#include "samegrad/plan/atom_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "samegrad/base/check.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

/// The same tree bottom up, without splitting anything: a binary counter of complete trees, folded from the right.
double counter_tree(const std::vector<double>& values) {
  std::vector<std::pair<std::size_t, double>> stack;  // size of a complete tree, its sum
  for (const double value : values) {
    std::pair<std::size_t, double> node{1, value};
    while (!stack.empty() && stack.back().first == node.first) {
      node = {2 * node.first, stack.back().second + node.second};
      stack.pop_back();
    }
    stack.push_back(node);
  }
  double sum = stack.back().second;
  stack.pop_back();
  for (; !stack.empty(); stack.pop_back()) sum = stack.back().second + sum;
  return sum;
}

/// Equal bits, except that one NaN is as good as another.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

/// Numbers on which orders of summation differ, and the special ones.
rc::Gen<double> difficult_double() {
  using Limits = std::numeric_limits<double>;
  return rc::gen::oneOf(
      rc::gen::arbitrary<double>(),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
      rc::gen::element(0.0, -0.0, Limits::denorm_min(), -Limits::denorm_min(), Limits::min() / 4, Limits::infinity(),
                       -Limits::infinity(), Limits::quiet_NaN(), Limits::max(), -Limits::max(), 1.0, 1e16, -1e16));
}

/// Finite ones only, so that a sum shows its order in its bits.
rc::Gen<double> finite_double() {
  return rc::gen::map(rc::gen::arbitrary<std::int32_t>(), [](std::int32_t n) { return n / 3.0; });
}

RC_GTEST_PROP(TreeSum, EqualsTheRecursiveDefinitionOnSpecialValues, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(difficult_double()));
  RC_ASSERT(same(tree_sum(values), testing::literal_tree(values, 0, values.size())));
  RC_ASSERT(same(tree_sum(values), counter_tree(values)));
}

RC_GTEST_PROP(TreeSum, EqualsTheRecursiveDefinitionBitForBitOnFiniteValues, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(finite_double()));
  RC_ASSERT(same(tree_sum(values), testing::literal_tree(values, 0, values.size())));
  RC_ASSERT(same(tree_sum(values), counter_tree(values)));
}

TEST(TreeSum, EmptyIsPositiveZeroAndOneValueIsItself) {
  EXPECT_TRUE(same(tree_sum({}), 0.0));
  const std::array<double, 1> minus_zero{-0.0};
  EXPECT_TRUE(same(tree_sum(minus_zero), -0.0));
}

// By hand, with e = 2^-53: 1 + e rounds to 1 (ties to even) and e + e = 2^-52 counts.
TEST(TreeSum, AddsInTheOrderOfTheTreeAndNotFromLeftToRight) {
  const double e = 0x1.0p-53;
  const std::array<double, 4> four{1.0, e, e, e};     // (1 + e) + (e + e) = 1 + 2^-52; left to right: 1
  const std::array<double, 3> three{e, e, 1.0};       // (e + e) + 1 = 1 + 2^-52
  const std::array<double, 5> five{1.0, 0, 0, e, e};  // ((1 + 0) + (0 + e)) + e = 1; cut in halves: 1 + 2^-52
  EXPECT_EQ(tree_sum(four), 1.0 + 0x1.0p-52);
  EXPECT_EQ(tree_sum(three), 1.0 + 0x1.0p-52);
  EXPECT_EQ(tree_sum(five), 1.0);
}

TEST(TreeSplit, IsTheLargestPowerOfTwoBelow) {
  const std::map<std::int64_t, std::int64_t> expected{{2, 1}, {3, 2}, {4, 2},  {5, 4},   {7, 4},
                                                      {8, 4}, {9, 8}, {16, 8}, {17, 16}, {4096, 2048}};
  for (const auto& [n, p] : expected) EXPECT_EQ(tree_split(n), p) << n;
  EXPECT_THROW(tree_split(1), InvariantError);
}

/// All nodes of T(i, j).
void collect_nodes(std::int64_t i, std::int64_t j, std::vector<AtomRange>& nodes) {
  nodes.push_back({i, j});
  if (j == i + 1) return;
  std::int64_t p = 1;
  while (2 * p < j - i) p = 2 * p;
  collect_nodes(i, i + p, nodes);
  collect_nodes(i + p, j, nodes);
}

bool inside(AtomRange inner, AtomRange outer) { return outer.begin <= inner.begin && inner.end <= outer.end; }

TEST(MaximalSubtrees, AreTheNodesInsideTheRangeThatNoOtherNodeInsideContains) {
  for (std::int64_t atoms = 1; atoms <= 20; ++atoms) {
    std::vector<AtomRange> nodes;
    collect_nodes(0, atoms, nodes);
    for (std::int64_t begin = 0; begin <= atoms; ++begin) {
      for (std::int64_t end = begin; end <= atoms; ++end) {
        const AtomRange range{begin, end};
        std::map<std::int64_t, AtomRange> maximal_nodes;  // by begin, so left to right
        for (const AtomRange& node : nodes) {
          if (!inside(node, range)) continue;
          const bool maximal = std::none_of(nodes.begin(), nodes.end(), [&](const AtomRange& other) {
            return !(other == node) && inside(other, range) && inside(node, other);
          });
          if (maximal) maximal_nodes[node.begin] = node;
        }
        std::vector<AtomRange> expected;
        expected.reserve(maximal_nodes.size());
        for (const auto& [first, node] : maximal_nodes) expected.push_back(node);
        EXPECT_EQ(maximal_subtrees(atoms, range), expected) << atoms << ": " << begin << ".." << end;
      }
    }
  }
}

RC_GTEST_PROP(MaximalSubtrees, SummedInTheTreeGiveTheWholeSumWhateverTheCuts, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(finite_double()));
  const auto atoms = static_cast<std::int64_t>(values.size());
  std::map<std::pair<std::int64_t, std::int64_t>, double> partial;
  std::int64_t begin = 0;
  while (begin < atoms) {
    const std::int64_t end = begin + *rc::gen::inRange<std::int64_t>(1, atoms - begin + 1);
    for (const AtomRange& node : maximal_subtrees(atoms, {begin, end})) {
      partial[{node.begin, node.end}] = tree_sum(
          std::span(values).subspan(static_cast<std::size_t>(node.begin), static_cast<std::size_t>(node.size())));
    }
    begin = end;
  }
  const auto finish = [&](const auto& self, std::int64_t i, std::int64_t j) -> double {
    if (const auto found = partial.find({i, j}); found != partial.end()) return found->second;
    RC_ASSERT(j - i > 1);
    const std::int64_t p = tree_split(j - i);
    return self(self, i, i + p) + self(self, i + p, j);
  };
  RC_ASSERT(same(finish(finish, 0, atoms), tree_sum(values)));
}

TEST(MaximalSubtrees, OfARangeOutsideTheAtomsBreakAnInvariant) {
  EXPECT_THROW(maximal_subtrees(4, {0, 5}), InvariantError);
  EXPECT_THROW(maximal_subtrees(4, {-1, 2}), InvariantError);
  EXPECT_THROW(maximal_subtrees(4, {3, 2}), InvariantError);
}

}  // namespace
}  // namespace samegrad
