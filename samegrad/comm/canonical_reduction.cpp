#include "samegrad/comm/canonical_reduction.h"

#include <algorithm>
#include <cstring>

#include "samegrad/base/check.h"
#include "samegrad/base/element_type.h"
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
  std::int64_t subtrees = 0;  ///< most maximal subtrees of a rank: every rank sends that many for each shard

  /// Elements of `shard_owner`'s shard at offset `begin` of length `count` that really exist.
  std::int64_t existing(std::int64_t shard_owner, std::int64_t begin, std::int64_t count) const {
    return std::clamp<std::int64_t>(elements - shard_owner * shard - begin, 0, count);
  }
};

using SubtreesByRank = std::vector<std::vector<AtomRange>>;

SubtreesByRank subtrees_by_rank(std::span<const AtomRange> ranges) {
  std::int64_t atoms = 0;
  for (const AtomRange& range : ranges) {
    atoms += range.size();
  }
  SAMEGRAD_CHECK_OP(atoms, >, 0);
  SubtreesByRank subtrees;
  for (const AtomRange& range : ranges) {
    subtrees.push_back(range.size() > 0 ? maximal_subtrees(atoms, range) : std::vector<AtomRange>{});
  }
  return subtrees;
}

ExchangeLayout make_layout(std::int64_t elements, std::int64_t piece_bytes, std::size_t element_size,
                           const SubtreesByRank& subtrees) {
  ExchangeLayout layout;
  layout.ranks = static_cast<std::int64_t>(subtrees.size());
  layout.elements = elements;
  layout.shard = round_up_to_blocks((elements + layout.ranks - 1) / layout.ranks);
  for (const std::vector<AtomRange>& of_rank : subtrees) {
    layout.subtrees = std::max(layout.subtrees, static_cast<std::int64_t>(of_rank.size()));
  }
  const std::int64_t copies = layout.ranks * layout.subtrees;
  const std::int64_t fitting = piece_bytes / static_cast<std::int64_t>(element_size) / copies;
  layout.piece = std::min(layout.shard, std::max(kBlockElements, fitting / kBlockElements * kBlockElements));
  return layout;
}

/// A piece of a subtree's sum, in the receive buffer; overwritten on the way up the tree.
template <typename Element>
struct Leaf {
  AtomRange atoms;
  Element* values;
};

/// Finishes T(begin, end) from `leaves`, of which `next` is the leftmost not yet used. Returns where the sum is.
template <typename Element>
Element* finish_tree(std::span<const Leaf<Element>> leaves, std::size_t& next, AtomRange node, std::int64_t count) {
  SAMEGRAD_CHECK_OP(next, <, leaves.size());
  if (leaves[next].atoms == node) {
    return leaves[next++].values;
  }
  SAMEGRAD_CHECK_OP(node.size(), >=, 2);
  const std::int64_t middle = node.begin + tree_split(node.size());
  Element* const left = finish_tree(leaves, next, {node.begin, middle}, count);
  const Element* const right = finish_tree(leaves, next, {middle, node.end}, count);
  for (std::int64_t k = 0; k < count; ++k) {
    left[k] += right[k];
  }
  return left;
}

template <typename Element>
void check_subtrees(std::span<const SubtreeGradient<Element>> mine, const std::vector<AtomRange>& expected) {
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
  PieceExchange(const ExchangeLayout& layout, const SubtreesByRank& subtrees)
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

  /// T(0, A) of this rank's shard: [count], in the receive buffer.
  std::span<Element> sum(std::int64_t count) {
    std::vector<Leaf<Element>> leaves;
    for (std::size_t rank = 0; rank < subtrees_.size(); ++rank) {
      for (std::size_t i = 0; i < subtrees_[rank].size(); ++i) {
        const std::int64_t slot = static_cast<std::int64_t>(rank) * layout_.subtrees + static_cast<std::int64_t>(i);
        leaves.push_back({subtrees_[rank][i], received_.data() + slot * count});
      }
    }
    std::size_t next = 0;
    auto* const values = finish_tree<Element>(leaves, next, {0, leaves.back().atoms.end}, count);
    SAMEGRAD_CHECK_OP(next, ==, leaves.size());
    return {values, static_cast<std::size_t>(count)};
  }

  /// Every rank's piece of its shard goes to its place in `result`.
  void gather(Communicator& comm, std::span<const Element> mine, std::int64_t begin, std::span<Element> result,
              const CallLabel& label) {
    const auto count = static_cast<std::int64_t>(mine.size());
    comm.all_gather(std::as_bytes(mine),
                    std::as_writable_bytes(std::span(gathered_).first(mine.size() * subtrees_.size())), label);
    for (std::int64_t owner = 0; owner < layout_.ranks; ++owner) {
      const std::int64_t existing = layout_.existing(owner, begin, count);
      if (existing > 0) {
        std::copy_n(gathered_.begin() + owner * count, existing, result.data() + owner * layout_.shard + begin);
      }
    }
  }

 private:
  const ExchangeLayout& layout_;
  const SubtreesByRank& subtrees_;
  std::vector<Element> send_;  // order: (owner of the shard, subtree, element)
  std::vector<Element> received_;
  std::vector<Element> gathered_;
};

template <typename Element>
ExchangeVolume reduce(Communicator& comm, std::span<const AtomRange> ranges,
                      std::span<const SubtreeGradient<Element>> mine, std::span<Element> result, double divisor,
                      CallLabel label) {
  label.dtype = kElementTypeOf<Element> == ElementType::kFloat64 ? CallDtype::kFloat64 : CallDtype::kFloat32;
  SAMEGRAD_CHECK_OP(static_cast<int>(ranges.size()), ==, comm.size());
  const SubtreesByRank subtrees = subtrees_by_rank(ranges);
  check_subtrees<Element>(mine, subtrees[static_cast<std::size_t>(comm.rank())]);
  const ExchangeLayout layout =
      make_layout(static_cast<std::int64_t>(result.size()), comm.piece_bytes(), sizeof(Element), subtrees);
  ExchangeVolume volume;
  if (comm.size() == 1) {
    if (mine[0].values == nullptr) {
      std::ranges::fill(result, Element{0});
    } else if (mine[0].values != result.data()) {
      std::copy_n(mine[0].values, result.size(), result.data());
    }
    divide_gradient(result.data(), static_cast<std::int64_t>(result.size()), divisor);
    return volume;
  }
  PieceExchange<Element> exchange(layout, subtrees);
  for (std::int64_t begin = 0; begin < layout.shard; begin += layout.piece) {
    const std::int64_t count = std::min(layout.piece, layout.shard - begin);
    exchange.distribute(comm, mine, begin, count, label);
    const std::span<Element> sum = exchange.sum(count);
    divide_gradient(sum.data(), count, divisor);
    exchange.gather(comm, sum, begin, result, label);
    const std::int64_t with_each_peer = static_cast<std::int64_t>(sizeof(Element)) * count * (layout.subtrees + 1);
    volume.bytes_sent += (layout.ranks - 1) * with_each_peer;
    volume.bytes_received += (layout.ranks - 1) * with_each_peer;
  }
  return volume;
}

}  // namespace

ExchangeCost exchange_cost(std::span<const AtomRange> ranges, std::int64_t elements, std::int64_t element_bytes,
                           std::int64_t piece_bytes) {
  const ExchangeLayout layout =
      make_layout(elements, piece_bytes, static_cast<std::size_t>(element_bytes), subtrees_by_rank(ranges));
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
