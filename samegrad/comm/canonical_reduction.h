// The exchange of a window: ranks' maximal subtrees of gradients -> the tree T(0, A) of all, divided once, the same
// bits whatever the number of ranks (docs/exactness.md, "Claim", steps 2 and 3).
#pragma once

#include <cstdint>
#include <span>

#include "samegrad/comm/communicator.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// A rank's partial sum over the atoms of one maximal subtree. Element: float or double.
template <typename Element>
struct SubtreeGradient {
  AtomRange atoms;
  const Element* values = nullptr;  ///< [elements]; nullptr: the subtree is +0 (no atom in it had supervised units)
};

/// Bytes that one rank sent and received, for tests and reports.
struct ExchangeVolume {
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
};

/// What an exchange costs each rank: a function of sizes.
struct ExchangeCost {
  std::int64_t subtrees = 0;         ///< most of a rank
  std::int64_t shard = 0;            ///< elements
  std::int64_t pieces = 0;           ///< each an all_to_all and an all_gather
  std::int64_t temporary_bytes = 0;  ///< of memory
  ExchangeVolume volume;
};

/// What reduce_canonically() of `elements` elements of `element_bytes` bytes costs over a communicator with these
/// pieces; nothing where there is one rank. Local.
ExchangeCost exchange_cost(std::span<const AtomRange> ranges, std::int64_t elements, std::int64_t element_bytes,
                           std::int64_t piece_bytes);

/// Combines `mine` (this rank's maximal subtrees, left to right) with the other ranks': rank r owns shard r of the flat
/// gradient, receives all subtrees for it, finishes T(0, atoms), divides by `divisor` (objective/scale.h), and the
/// shards are gathered into `result` [elements] on every rank. `ranges` is rank_ranges(atoms, comm.size()). Every rank
/// sends as many subtrees as the rank with the most, m, has: (m + 1) / 2 of the bytes of a ring all-reduce. `result`
/// may be the memory of one of `mine`. A subtree of +0 is added like any other, for x + 0 turns -0 into +0. Which of
/// two NaNs that meet survives is not promised. Sums are made in the elements' own type, the division in double.
/// Where all of `mine` and `result` on all ranks are memory that `comm` offers (comm/gradient_memory.h), ranks read and
/// write each other's in two meetings; else they send messages. The same bits, and as many bytes between ranks, either
/// way. Temporary memory: three pieces (Communicator::piece_bytes). Collective.
ExchangeVolume reduce_canonically(Communicator& comm, std::span<const AtomRange> ranges,
                                  std::span<const SubtreeGradient<float>> mine, std::span<float> result, double divisor,
                                  const CallLabel& label);
ExchangeVolume reduce_canonically(Communicator& comm, std::span<const AtomRange> ranges,
                                  std::span<const SubtreeGradient<double>> mine, std::span<double> result,
                                  double divisor, const CallLabel& label);

}  // namespace samegrad
