#include "samegrad/comm/canonical_reduction.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "samegrad/base/check.h"
#include "samegrad/base/element_type.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/tree_sum.h"
#include "samegrad/objective/scale.h"

namespace samegrad {
namespace {

/// Shards begin at multiples of a cache line of the narrowest type.
constexpr std::int64_t kBlockElements = 16;
std::int64_t round_up_to_blocks(std::int64_t elements) {
  return (elements + kBlockElements - 1) / kBlockElements * kBlockElements;
}

/// How the exchange is cut: a function of sizes that all ranks know.
struct ExchangeLayout {
  std::int64_t ranks = 0;
  std::int64_t elements = 0;
  std::int64_t shard = 0;     ///< elements of a rank's shard; the last shards may reach past the end
  std::int64_t piece = 0;     ///< elements of each shard that are exchanged at once
  std::int64_t subtrees = 0;  ///< RankSubtrees::most: every rank sends that many for each shard

  /// Elements of `shard_owner`'s shard at offset `begin` of length `count` that really exist.
  std::int64_t existing(std::int64_t shard_owner, std::int64_t begin, std::int64_t count) const {
    return std::clamp<std::int64_t>(elements - shard_owner * shard - begin, 0, count);
  }
};

/// All ranks' maximal subtrees, left to right.
struct RankSubtrees {
  std::vector<AtomRange> all;
  std::vector<std::size_t> begin;  ///< by rank, and the end
  std::size_t most = 0;            ///< of a rank

  std::span<const AtomRange> of(std::size_t rank) const {
    return std::span(all).subspan(begin[rank], begin[rank + 1] - begin[rank]);
  }
  std::size_t ranks() const { return begin.size() - 1; }
};

RankSubtrees rank_subtrees(std::span<const AtomRange> ranges) {
  std::int64_t atoms = 0;
  for (const AtomRange& range : ranges) {
    atoms += range.size();
  }
  SAMEGRAD_CHECK_OP(atoms, >, 0);
  RankSubtrees subtrees;
  for (const AtomRange& range : ranges) {
    subtrees.begin.push_back(subtrees.all.size());
    if (range.size() == 0) continue;
    const std::vector<AtomRange> nodes = maximal_subtrees(atoms, range);
    subtrees.all.insert(subtrees.all.end(), nodes.begin(), nodes.end());
    subtrees.most = std::max(subtrees.most, nodes.size());
  }
  subtrees.begin.push_back(subtrees.all.size());
  return subtrees;
}

ExchangeLayout make_layout(std::int64_t elements, std::int64_t piece_bytes, std::size_t element_size,
                           const RankSubtrees& subtrees) {
  ExchangeLayout layout;
  layout.ranks = static_cast<std::int64_t>(subtrees.ranks());
  layout.elements = elements;
  layout.shard = round_up_to_blocks((elements + layout.ranks - 1) / layout.ranks);
  layout.subtrees = static_cast<std::int64_t>(subtrees.most);
  const std::int64_t copies = layout.ranks * layout.subtrees;
  const std::int64_t fitting = piece_bytes / static_cast<std::int64_t>(element_size) / copies;
  layout.piece = std::min(layout.shard, std::max(kBlockElements, fitting / kBlockElements * kBlockElements));
  return layout;
}

/// What follows from the ranges of the ranks alone, and room for the addresses of an exchange in place.
template <typename Element>
struct RangesPlan {
  explicit RangesPlan(std::span<const AtomRange> of)
      : ranges(of.begin(), of.end()), subtrees(rank_subtrees(of)), tree(subtrees.all) {}

  std::vector<AtomRange> ranges;
  RankSubtrees subtrees;
  TreeSum<Element> tree;
  ExchangedMemory memory{};
  std::vector<const Element*> leaves{};
  std::vector<Element*> results{};
};

/// The plan of this thread's last exchange, which is mostly of the same ranges: where few kilobytes are exchanged, a
/// new plan would be a tenth of the time.
template <typename Element>
RangesPlan<Element>& plan_of(std::span<const AtomRange> ranges) {
  thread_local std::optional<RangesPlan<Element>> plan;
  if (!plan || !std::ranges::equal(plan->ranges, ranges)) plan.emplace(ranges);
  return *plan;
}

template <typename Element>
void check_subtrees(std::span<const SubtreeGradient<Element>> mine, std::span<const AtomRange> expected) {
  SAMEGRAD_CHECK_OP(mine.size(), ==, expected.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    SAMEGRAD_CHECK_OP(mine[i].atoms.begin, ==, expected[i].begin);
    SAMEGRAD_CHECK_OP(mine[i].atoms.end, ==, expected[i].end);
  }
}

/// The buffers of an exchange, and its steps for the `count` elements at offset `begin` of every shard.
template <typename Element>
class PieceExchange {
 public:
  PieceExchange(const ExchangeLayout& layout, const RankSubtrees& subtrees)
      : layout_(layout),
        subtrees_(subtrees),
        send_(static_cast<std::size_t>(layout.ranks * layout.subtrees * layout.piece)),
        received_(send_.size()),
        gathered_(static_cast<std::size_t>(layout.ranks * layout.piece)) {}

  /// Afterwards this rank holds all ranks' subtrees for its own shard.
  void distribute(Communicator& comm, std::span<const SubtreeGradient<Element>> mine, std::int64_t begin,
                  std::int64_t count, const CallLabel& label) {
    const auto elements = static_cast<std::size_t>(layout_.ranks * layout_.subtrees * count);
    Element* place = send_.data();
    for (std::int64_t owner = 0; owner < layout_.ranks; ++owner) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(layout_.subtrees); ++i, place += count) {
        const bool absent = i >= mine.size() || mine[i].values == nullptr;
        const std::int64_t existing = absent ? 0 : layout_.existing(owner, begin, count);
        if (existing > 0) std::copy_n(mine[i].values + owner * layout_.shard + begin, existing, place);
        std::fill_n(place + existing, count - existing, Element{0});  // absent subtrees are +0, and are added as +0
      }
    }
    comm.all_to_all(std::as_bytes(std::span(send_).first(elements)),
                    std::as_writable_bytes(std::span(received_).first(elements)), label);
  }

  /// T(0, A) of this rank's shard, divided: [count], in the receive buffer.
  std::span<Element> sum(TreeSum<Element>& tree, std::int64_t count, double divisor) {
    std::vector<const Element*> leaves;
    for (std::size_t rank = 0; rank < subtrees_.ranks(); ++rank) {
      for (std::size_t i = 0; i < subtrees_.of(rank).size(); ++i) {
        const std::int64_t slot = static_cast<std::int64_t>(rank) * layout_.subtrees + static_cast<std::int64_t>(i);
        leaves.push_back(received_.data() + slot * count);
      }
    }
    Element* const result = received_.data();
    tree.run(leaves, std::span(&result, 1), count, divisor);
    return {result, static_cast<std::size_t>(count)};
  }

  /// Every rank's piece of its shard goes to its place in `result`.
  void gather(Communicator& comm, std::span<const Element> mine, std::int64_t begin, std::span<Element> result,
              const CallLabel& label) {
    const auto count = static_cast<std::int64_t>(mine.size());
    comm.all_gather(std::as_bytes(mine),
                    std::as_writable_bytes(std::span(gathered_).first(mine.size() * subtrees_.ranks())), label);
    for (std::int64_t owner = 0; owner < layout_.ranks; ++owner) {
      const std::int64_t existing = layout_.existing(owner, begin, count);
      if (existing > 0) {
        std::copy_n(gathered_.begin() + owner * count, existing, result.data() + owner * layout_.shard + begin);
      }
    }
  }

 private:
  const ExchangeLayout& layout_;
  const RankSubtrees& subtrees_;
  std::vector<Element> send_;  // order: (owner of the shard, subtree, element)
  std::vector<Element> received_;
  std::vector<Element> gathered_;
};

/// In messages, piece by piece.
template <typename Element>
void reduce_in_pieces(Communicator& comm, const ExchangeLayout& layout, RangesPlan<Element>& plan,
                      std::span<const SubtreeGradient<Element>> mine, std::span<Element> result, double divisor,
                      const CallLabel& label) {
  PieceExchange<Element> exchange(layout, plan.subtrees);
  for (std::int64_t begin = 0; begin < layout.shard; begin += layout.piece) {
    const std::int64_t count = std::min(layout.piece, layout.shard - begin);
    exchange.distribute(comm, mine, begin, count, label);
    exchange.gather(comm, exchange.sum(plan.tree, count, divisor), begin, result, label);
  }
}

/// Note [Shards in shared memory]
/// Rank r alone reads and writes shard r of every rank's memory: it takes the subtrees from where they were made and
/// puts the finished shard into every rank's result, which may be where one of these subtrees was. So each element is
/// read once for each subtree and written once for each rank, and two meetings are enough.
template <typename Element>
bool reduce_in_place(Communicator& comm, const ExchangeLayout& layout, RangesPlan<Element>& plan,
                     std::span<const SubtreeGradient<Element>> mine, std::span<Element> result, double divisor,
                     const CallLabel& label) {
  auto* const shares = comm.shares_gradient_memory();
  if (shares == nullptr) return false;
  plan.memory.result = reinterpret_cast<std::byte*>(result.data());
  plan.memory.parts.assign(plan.subtrees.most, nullptr);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    plan.memory.parts[i] = reinterpret_cast<const std::byte*>(mine[i].values);
  }
  const auto me = static_cast<std::size_t>(comm.rank());
  const auto work = [&](std::span<const ExchangedMemory> all) {
    const std::int64_t begin = comm.rank() * layout.shard;
    plan.leaves.clear();
    plan.results.assign(1, reinterpret_cast<Element*>(all[me].result) + begin);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      for (std::size_t i = 0; i < plan.subtrees.of(rank).size(); ++i) {
        const auto* const part = reinterpret_cast<const Element*>(all[rank].parts[i]);
        plan.leaves.push_back(part == nullptr ? nullptr : part + begin);
      }
      if (rank != me) plan.results.push_back(reinterpret_cast<Element*>(all[rank].result) + begin);
    }
    plan.tree.run(plan.leaves, plan.results, layout.existing(comm.rank(), 0, layout.shard), divisor);
  };
  return shares->exchange_in_place(plan.memory, result.size_bytes(), std::ref(work), label);
}

template <typename Element>
ExchangeVolume reduce(Communicator& comm, std::span<const AtomRange> ranges,
                      std::span<const SubtreeGradient<Element>> mine, std::span<Element> result, double divisor,
                      CallLabel label) {
  label.dtype = kElementTypeOf<Element> == ElementType::kFloat64 ? CallDtype::kFloat64 : CallDtype::kFloat32;
  SAMEGRAD_CHECK_OP(static_cast<int>(ranges.size()), ==, comm.size());
  RangesPlan<Element>& plan = plan_of<Element>(ranges);
  check_subtrees<Element>(mine, plan.subtrees.of(static_cast<std::size_t>(comm.rank())));
  const ExchangeLayout layout =
      make_layout(static_cast<std::int64_t>(result.size()), comm.piece_bytes(), sizeof(Element), plan.subtrees);
  if (comm.size() == 1) {
    if (mine[0].values == nullptr) {
      std::ranges::fill(result, Element{0});
    } else if (mine[0].values != result.data()) {
      std::copy_n(mine[0].values, result.size(), result.data());
    }
    divide_gradient(result.data(), static_cast<std::int64_t>(result.size()), divisor);
    return {};
  }
  if (!reduce_in_place(comm, layout, plan, mine, result, divisor, label)) {
    reduce_in_pieces(comm, layout, plan, mine, result, divisor, label);
  }
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(Element)) * layout.shard * (layout.subtrees + 1);
  return {(layout.ranks - 1) * bytes, (layout.ranks - 1) * bytes};
}

}  // namespace

ExchangeCost exchange_cost(std::span<const AtomRange> ranges, std::int64_t elements, std::int64_t element_bytes,
                           std::int64_t piece_bytes) {
  const ExchangeLayout layout =
      make_layout(elements, piece_bytes, static_cast<std::size_t>(element_bytes), rank_subtrees(ranges));
  ExchangeCost cost{.subtrees = layout.subtrees, .shard = layout.shard, .volume = {}};
  if (layout.ranks == 1) return cost;
  cost.pieces = (layout.shard + layout.piece - 1) / layout.piece;
  cost.temporary_bytes = layout.ranks * (2 * layout.subtrees + 1) * layout.piece * element_bytes;
  const std::int64_t bytes = (layout.ranks - 1) * (layout.subtrees + 1) * layout.shard * element_bytes;
  cost.volume = {.bytes_sent = bytes, .bytes_received = bytes};
  return cost;
}

ExchangeVolume reduce_canonically(Communicator& comm, std::span<const AtomRange> ranges,
                                  std::span<const SubtreeGradient<float>> mine, std::span<float> result, double divisor,
                                  const CallLabel& label) {
  return reduce(comm, ranges, mine, result, divisor, label);
}

ExchangeVolume reduce_canonically(Communicator& comm, std::span<const AtomRange> ranges,
                                  std::span<const SubtreeGradient<double>> mine, std::span<double> result,
                                  double divisor, const CallLabel& label) {
  return reduce(comm, ranges, mine, result, divisor, label);
}

}  // namespace samegrad
