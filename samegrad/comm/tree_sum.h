// T(0, atoms) of many elements from the sums of some of its nodes, divided (docs/exactness.md, "The tree").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// Works in blocks that stay in a core's cache, so every element is read and written once. Element: float or double.
template <typename Element>
class TreeSum {
 public:
  /// `leaves`: nodes of T(0, leaves.back().end), left to right, that cover it. Local.
  explicit TreeSum(std::span<const AtomRange> leaves);

  /// Each of `results` [count] = the tree over `leaves` [leaf][count], nullptr being +0, divided by `divisor`. A result
  /// may be one of the leaves, and is else apart from all. Local.
  void run(std::span<const Element* const> leaves, std::span<Element* const> results, std::int64_t count,
           double divisor);

 private:
  /// `left` and `right` are leaves, or, from the number of leaves on, rows; the sum goes to row `row`.
  struct Step {
    std::size_t left = 0;
    std::size_t right = 0;
    std::size_t row = 0;
  };

  std::size_t add_steps(std::span<const AtomRange> leaves, AtomRange node, std::size_t& next, std::size_t row);
  void run_block(std::span<const Element* const> leaves, std::span<Element* const> results, std::int64_t begin,
                 std::int64_t count, double divisor);

  std::size_t leaves_;
  std::vector<Step> steps_;
  std::vector<Element> rows_;  // a block each
};

}  // namespace samegrad
