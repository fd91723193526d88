// The exchange of a window: ranks' maximal subtrees of gradients -> the tree T(0, A) of all, divided once, the same
// bits whatever the number of ranks (docs/exactness.md, rule 4).
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
