#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "samegrad/base/check.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {
namespace {

std::int64_t subtrees(std::int64_t atoms, AtomRange range) {
  return static_cast<std::int64_t>(maximal_subtrees(atoms, range).size());
}

std::int64_t most_subtrees(std::int64_t atoms, const std::vector<AtomRange>& ranges) {
  std::int64_t most = 0;
  for (const AtomRange& range : ranges) most = std::max(most, subtrees(atoms, range));
  return most;
}

/// What the ranges are chosen by, smallest first: most subtrees, their sum, the ends.
using Rating = std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>>;

Rating rate(std::int64_t atoms, const std::vector<AtomRange>& ranges) {
  Rating rating{0, 0, {}};
  for (const AtomRange& range : ranges) {
    const std::int64_t count = subtrees(atoms, range);
    std::get<0>(rating) = std::max(std::get<0>(rating), count);
    std::get<1>(rating) += count;
    std::get<2>(rating).push_back(range.end);
  }
  return rating;
}

/// Tries every way to cut `atoms` into `ranks` ranges of 1..most atoms.
void best_of_all(std::int64_t atoms, std::int64_t ranks, std::int64_t most, std::vector<AtomRange>& chosen,
                 Rating& best) {
  const std::int64_t begin = chosen.empty() ? 0 : chosen.back().end;
  if (static_cast<std::int64_t>(chosen.size()) == ranks) {
    if (begin == atoms) best = std::min(best, rate(atoms, chosen));
    return;
  }
  for (std::int64_t end = begin + 1; end <= std::min(begin + most, atoms); ++end) {
    chosen.push_back({begin, end});
    best_of_all(atoms, ranks, most, chosen, best);
    chosen.pop_back();
  }
}

TEST(RankRanges, AreTheBestOfAllPossibleOnes) {
  for (std::int64_t atoms = 1; atoms <= 13; ++atoms) {
    for (std::int64_t ranks = 1; ranks <= atoms; ++ranks) {
      std::vector<AtomRange> chosen;
      Rating best{atoms + 1, 0, {}};
      best_of_all(atoms, ranks, (atoms + ranks - 1) / ranks, chosen, best);
      const auto ranges = rank_ranges(atoms, ranks);
      ASSERT_EQ(ranges.size(), static_cast<std::size_t>(ranks));
      EXPECT_EQ(rate(atoms, ranges), best) << atoms << " atoms, " << ranks << " ranks";
    }
  }
}

void expect_cover(std::int64_t atoms, std::int64_t ranks, const std::vector<AtomRange>& ranges) {
  ASSERT_EQ(ranges.size(), static_cast<std::size_t>(ranks));
  std::int64_t begin = 0;
  for (const AtomRange& range : ranges) {
    EXPECT_EQ(range.begin, begin) << atoms << " atoms, " << ranks << " ranks";
    EXPECT_LE(range.size(), (atoms + ranks - 1) / ranks);
    EXPECT_GE(range.size(), ranks <= atoms ? 1 : 0);
    begin = range.end;
  }
  EXPECT_EQ(begin, atoms);
}

TEST(RankRanges, CoverAllAtomsInOrderWithEqualLimits) {
  for (std::int64_t atoms = 1; atoms <= 40; ++atoms) {
    for (std::int64_t ranks = 1; ranks <= 45; ++ranks) expect_cover(atoms, ranks, rank_ranges(atoms, ranks));
  }
}

TEST(RankRanges, GiveOneSubtreeARankWhereAtomsPerRankAreAPowerOfTwo) {
  for (std::int64_t ranks = 1; ranks <= 24; ++ranks) {
    for (std::int64_t each = 1; each * ranks <= 256; each *= 2) {
      EXPECT_EQ(most_subtrees(each * ranks, rank_ranges(each * ranks, ranks)), 1) << ranks << " ranks of " << each;
    }
  }
}

// The even split of 64 atoms over 9 ranks has ranks with three subtrees (facts of the tree's traffic: 2.0 of a ring).
TEST(RankRanges, Give64AtomsOver9RanksOneSubtreeEach) {
  EXPECT_EQ(most_subtrees(64, rank_ranges(64, 9)), 1);
  std::vector<AtomRange> even;
  for (std::int64_t r = 0; r < 9; ++r) even.push_back({64 * r / 9, 64 * (r + 1) / 9});
  EXPECT_EQ(most_subtrees(64, even), 3);
}

TEST(RankRanges, LeaveTheLastRanksEmptyWhereThereAreMoreRanksThanAtoms) {
  const std::vector<AtomRange> expected{{0, 1}, {1, 2}, {2, 3}, {3, 3}, {3, 3}};
  EXPECT_EQ(rank_ranges(3, 5), expected);
}

TEST(RankRanges, CoverLargeWindowsTooWithAndWithoutSearch) {
  for (const std::int64_t ranks : {1, 2, 3, 1000, 1366, 2731, 3000, 4095, 4096, 5000}) {
    expect_cover(4096, ranks, rank_ranges(4096, ranks));
    expect_cover(kMostAtomsSearched + 1, ranks, rank_ranges(kMostAtomsSearched + 1, ranks));
  }
  EXPECT_EQ(most_subtrees(12288, rank_ranges(12288, 96)), 1);
}

TEST(RankRanges, WithoutAtomsOrRanksBreakAnInvariant) {
  EXPECT_THROW(rank_ranges(0, 1), InvariantError);
  EXPECT_THROW(rank_ranges(1, 0), InvariantError);
}

}  // namespace
}  // namespace samegrad
