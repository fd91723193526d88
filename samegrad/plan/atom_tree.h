// The fixed binary tree T over atom indices in which everything of a window is summed (docs/exactness.md):
// T(i, j) over atoms i..j-1 is the atom itself when j = i + 1, else T(i, i+p) + T(i+p, j) with p the largest power of
// two below j - i.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace samegrad {

/// Atoms begin..end-1.
struct AtomRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const AtomRange&) const = default;
};

/// The largest power of two below n (n >= 2).
std::int64_t tree_split(std::int64_t n);

/// The maximal nodes of T(0, atoms) that lie inside `range`, left to right. Few: O(log atoms). Local.
std::vector<AtomRange> maximal_subtrees(std::int64_t atoms, AtomRange range);

/// Whether T(0, atoms) has the node T(range). Local.
bool is_subtree(std::int64_t atoms, AtomRange range);

/// The most sums that one rank holds at once while it computes the atoms of `range` in order and adds siblings of
/// T(0, atoms) as soon as both are there, the atom being computed among them; 1, for the result, where it has none.
/// Local.
std::int64_t sums_held(std::int64_t atoms, AtomRange range);

/// T over doubles: values[i] is atom i's. Empty: +0. Local.
double tree_sum(std::span<const double> values);

/// Above this many atoms rank_ranges does not search (see there).
inline constexpr std::int64_t kMostAtomsSearched = 4096;

/// Rank ranges: contiguous, in rank order, covering 0..atoms-1, each at most ceil(atoms / world_size). Changes no bits.
///
/// Where world_size <= atoms every rank gets at least one atom (that never costs a subtree more on the fullest rank: a
/// range of several subtrees can be cut between them, one of a single subtree into its two halves), and the ranges are
/// those with the least largest number of maximal subtrees of any rank, then the least sum of them, then the
/// lexicographically smallest ends. Above kMostAtomsSearched atoms they are floor(atoms * r / world_size) instead.
/// Either way the largest number is 1 wherever atoms / world_size is a power of two.
///
/// Where world_size > atoms rank r gets atom r, and the last world_size - atoms ranks an empty range. Local.
std::vector<AtomRange> rank_ranges(std::int64_t atoms, std::int64_t world_size);

}  // namespace samegrad
