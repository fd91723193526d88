#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

namespace {

constexpr std::int32_t kImpossible = std::numeric_limits<std::int32_t>::max();

/// Note [States of the search]
/// With every range at most `most` = ceil(atoms / ranks) long, the first r ranks can fall short of r * most atoms by at
/// most slack = ranks * most - atoms < ranks in all. A state is (r, d): the first r ranks hold r * most - d atoms,
/// 0 <= d <= slack. Rank r then takes most - s atoms, and the state becomes (r + 1, d + s). There are fewer than
/// ranks * (slack + 1) states with at most min(most, slack + 1) steps each: about atoms * ranks steps at the worst.
class RangeSearch {
 public:
  RangeSearch(std::int64_t atoms, std::int64_t ranks)
      : ranks_(ranks), most_((atoms - 1) / ranks + 1), slack_(ranks * most_ - atoms) {
    steps_ = std::min(most_, slack_ + 1);
    subtrees_.reserve(static_cast<std::size_t>(atoms * steps_));
    for (std::int64_t begin = 0; begin < atoms; ++begin) {
      for (std::int64_t shortfall = 0; shortfall < steps_; ++shortfall) {
        const std::int64_t end = std::min(begin + most_ - shortfall, atoms);
        subtrees_.push_back(static_cast<std::uint8_t>(maximal_subtrees(atoms, {begin, end}).size()));
      }
    }
  }

  /// The best ranges with at most `limit` maximal subtrees each; nullopt where there are none.
  std::optional<std::vector<AtomRange>> with_at_most(int limit) {
    find_least_sums(limit);
    if (least(0, 0) == kImpossible) return std::nullopt;
    std::vector<AtomRange> ranges;
    std::int64_t d = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      // The largest shortfall that keeps the least sum gives the smallest end.
      std::int64_t s = std::min(steps_ - 1, slack_ - d);
      while (sum_through(rank, d, s, limit) != least(rank, d)) --s;
      ranges.push_back({rank * most_ - d, (rank + 1) * most_ - d - s});
      d += s;
    }
    return ranges;
  }

 private:
  std::int32_t& least(std::int64_t rank, std::int64_t d) {
    return least_[static_cast<std::size_t>(rank * (slack_ + 1) + d)];
  }

  /// Least sum of subtrees over ranks rank.. when `rank` starts in state d and falls short by s.
  std::int32_t sum_through(std::int64_t rank, std::int64_t d, std::int64_t s, int limit) {
    const std::int32_t rest = least(rank + 1, d + s);
    if (rest == kImpossible) return kImpossible;
    const std::int64_t begin = rank * most_ - d;
    const int subtrees = subtrees_[static_cast<std::size_t>(begin * steps_ + s)];
    return subtrees > limit ? kImpossible : subtrees + rest;
  }

  void find_least_sums(int limit) {
    least_.assign(static_cast<std::size_t>((ranks_ + 1) * (slack_ + 1)), kImpossible);
    least(ranks_, slack_) = 0;
    for (std::int64_t rank = ranks_ - 1; rank >= 0; --rank) {
      // Ranks before this one hold at least one atom each, so they fall short by at most most - 1 each.
      const std::int64_t reachable = std::min(slack_, rank * (most_ - 1));
      for (std::int64_t d = 0; d <= reachable; ++d) {
        std::int32_t best = kImpossible;
        for (std::int64_t s = std::min(steps_ - 1, slack_ - d); s >= 0; --s) {
          best = std::min(best, sum_through(rank, d, s, limit));
        }
        least(rank, d) = best;
      }
    }
  }

  std::int64_t ranks_;
  std::int64_t most_;
  std::int64_t slack_;
  std::int64_t steps_ = 0;              // shortfalls 0..steps_-1 leave a rank at least one atom
  std::vector<std::uint8_t> subtrees_;  // [begin][shortfall] -> maximal subtrees of begin..begin+most-shortfall
  std::vector<std::int32_t> least_;     // [rank][d] -> least sum of subtrees of ranks rank.., or kImpossible
};

std::vector<AtomRange> even_ranges(std::int64_t atoms, std::int64_t world_size) {
  std::vector<AtomRange> ranges;
  std::int64_t begin = 0;
  for (std::int64_t rank = 0; rank < world_size; ++rank) {
    // floor(atoms * (rank + 1) / world_size), without the product.
    const std::int64_t end = atoms / world_size * (rank + 1) + atoms % world_size * (rank + 1) / world_size;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

}  // namespace

std::vector<AtomRange> rank_ranges(std::int64_t atoms, std::int64_t world_size) {
  SAMEGRAD_CHECK_OP(atoms, >=, 1);
  SAMEGRAD_CHECK_OP(world_size, >=, 1);
  if (world_size > atoms) {
    std::vector<AtomRange> ranges;
    for (std::int64_t rank = 0; rank < world_size; ++rank) {
      ranges.push_back({std::min(rank, atoms), std::min(rank + 1, atoms)});
    }
    return ranges;
  }
  if (atoms > kMostAtomsSearched) return even_ranges(atoms, world_size);
  RangeSearch search(atoms, world_size);
  for (int limit = 1;; ++limit) {
    if (auto ranges = search.with_at_most(limit)) return std::move(*ranges);
  }
}

}  // namespace samegrad
