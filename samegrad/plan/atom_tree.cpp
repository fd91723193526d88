#include "samegrad/plan/atom_tree.h"

#include <algorithm>
#include <bit>

#include "samegrad/base/check.h"

namespace samegrad {

namespace {

/// Appends the maximal nodes of T(node) that lie inside `range`.
void append_maximal(AtomRange node, AtomRange range, std::vector<AtomRange>& found) {
  if (node.end <= range.begin || range.end <= node.begin) return;
  if (range.begin <= node.begin && node.end <= range.end) {
    found.push_back(node);
    return;
  }
  const std::int64_t middle = node.begin + tree_split(node.size());
  append_maximal({node.begin, middle}, range, found);
  append_maximal({middle, node.end}, range, found);
}

/// What computing atoms needs: sums held at most on the way, and left over afterwards.
struct SumsHeld {
  std::int64_t most = 0;
  std::int64_t after = 0;
};

/// For all atoms of a node of `size` atoms.
std::int64_t most_for_node(std::int64_t size) {
  if (std::has_single_bit(static_cast<std::uint64_t>(size))) return std::bit_width(static_cast<std::uint64_t>(size));
  const std::int64_t left = tree_split(size);
  return std::max(most_for_node(left), 1 + most_for_node(size - left));
}

/// For the atoms of T(node) inside `range`.
SumsHeld sums_for(AtomRange node, AtomRange range) {
  if (node.end <= range.begin || range.end <= node.begin) return {};
  if (range.begin <= node.begin && node.end <= range.end) return {most_for_node(node.size()), 1};
  const std::int64_t middle = node.begin + tree_split(node.size());
  const SumsHeld left = sums_for({node.begin, middle}, range);
  const SumsHeld right = sums_for({middle, node.end}, range);
  return {std::max(left.most, left.after + right.most), left.after + right.after};
}

}  // namespace

std::int64_t tree_split(std::int64_t n) {
  SAMEGRAD_CHECK_OP(n, >=, 2);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
}

std::vector<AtomRange> maximal_subtrees(std::int64_t atoms, AtomRange range) {
  SAMEGRAD_CHECK_OP(range.begin, >=, 0);
  SAMEGRAD_CHECK_OP(range.begin, <=, range.end);
  SAMEGRAD_CHECK_OP(range.end, <=, atoms);
  std::vector<AtomRange> found;
  if (range.size() > 0) append_maximal({0, atoms}, range, found);
  return found;
}

bool is_subtree(std::int64_t atoms, AtomRange range) {
  const std::vector<AtomRange> nodes = maximal_subtrees(atoms, range);
  return nodes.size() == 1 && nodes.front() == range;
}

std::int64_t sums_held(std::int64_t atoms, AtomRange range) {
  if (range.size() == 0) return 1;
  return sums_for({0, atoms}, range).most;
}

double tree_sum(std::span<const double> values) {
  if (values.empty()) return 0.0;
  if (values.size() == 1) return values[0];
  const auto left = static_cast<std::size_t>(tree_split(static_cast<std::int64_t>(values.size())));
  return tree_sum(values.first(left)) + tree_sum(values.subspan(left));
}

}  // namespace samegrad
