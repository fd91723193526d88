// The whole way of a gradient (atoms into a rank's subtrees, subtrees over the ranks, the division) against the tree
// T(0, A) written out, for random atoms, ranks, sizes and values.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/plan/atom_tree.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

/// Every NaN has the same bits here; all else has its own.
template <typename Element>
using Bits = std::conditional_t<sizeof(Element) == 4, std::uint32_t, std::uint64_t>;

template <typename Element>
std::vector<Bits<Element>> bits_of(std::span<const Element> values) {
  std::vector<Bits<Element>> bits;
  for (const Element value : values) {
    bits.push_back(std::bit_cast<Bits<Element>>(std::isnan(value) ? std::numeric_limits<Element>::quiet_NaN() : value));
  }
  return bits;
}

template <typename Element>
Element random_value(std::mt19937& random) {
  using Limits = std::numeric_limits<Element>;
  const std::array<Element, 9> special{Element{-0.0},      Element{0.0},   Limits::denorm_min(),
                                       -Limits::min() / 8, Limits::max(),  -Limits::max(),
                                       Limits::infinity(), -Limits::max(), Limits::quiet_NaN()};
  const auto choice = random();
  if (choice % 8 == 0) return special[choice / 8 % special.size()];
  return std::ldexp(static_cast<Element>(static_cast<std::int32_t>(random())), static_cast<int>(choice / 8 % 60) - 45);
}

template <typename Element>
struct Case {
  int world_size = 1;
  std::vector<std::vector<Element>> atoms;
  std::vector<bool> absent;  ///< by atom: no units, nothing computed
  double divisor = 1.0;
  bool in_place = false;  ///< in memory that ranks share
};

template <typename Element>
Case<Element> random_case(std::mt19937& random) {
  Case<Element> drawn;
  drawn.world_size = static_cast<int>(random() % 64) + 1;
  drawn.in_place = random() % 2 == 0;
  drawn.divisor = random() % 2 == 0 ? static_cast<double>(random() % 100'000 + 1)
                                    : std::ldexp(static_cast<double>(random() % 9'999 + 1), -20);  // a weight
  const std::size_t elements = random() % 300 + 1;
  drawn.atoms.assign(random() % 100 + 1, std::vector<Element>(elements, Element{0}));
  for (std::vector<Element>& atom : drawn.atoms) {
    drawn.absent.push_back(random() % 4 == 0);
    if (drawn.absent.back()) continue;
    for (Element& value : atom) value = random_value<Element>(random);
  }
  return drawn;
}

template <typename Element>
std::vector<Element> on_rank(Communicator& comm, const Case<Element>& drawn) {
  const auto atoms = static_cast<std::int64_t>(drawn.atoms.size());
  const FlatParameters parameters({{"g", {static_cast<std::int64_t>(drawn.atoms[0].size())}}}, kElementTypeOf<Element>);
  GradientBufferPool pool(parameters.set());
  if (drawn.in_place) pool.place_in(gradient_memory_of(comm));
  SubtreeStack stack(atoms, pool);
  const std::vector<AtomRange> ranges = rank_ranges(atoms, comm.size());
  const AtomRange mine = ranges[static_cast<std::size_t>(comm.rank())];
  for (std::int64_t atom = mine.begin; atom < mine.end; ++atom) {
    const auto a = static_cast<std::size_t>(atom);
    std::unique_ptr<GradientBuffer> buffer;
    if (!drawn.absent[a]) {
      buffer = pool.take_zeroed();
      std::ranges::copy(drawn.atoms[a], buffer->values<Element>().begin());
    }
    stack.push(atom, std::move(buffer));
  }
  std::vector<SubtreeGradient<Element>> subtrees;
  for (const SubtreeStack::Node& node : stack.nodes()) {
    subtrees.push_back({node.atoms, node.sum ? node.sum->template values<Element>().data() : nullptr});
  }
  const std::unique_ptr<GradientBuffer> taken = pool.take();
  const std::span<Element> result = taken->values<Element>();
  std::ranges::fill(result, Element{7});
  reduce_canonically(comm, ranges, subtrees, result, drawn.divisor, {"gradient", 1});
  return {result.begin(), result.begin() + static_cast<std::ptrdiff_t>(drawn.atoms[0].size())};
}

template <typename Element>
void expect_tree_for_random_cases(std::uint32_t seed, int cases) {
  std::mt19937 random(seed);
  int with_nan = 0;
  int with_infinity = 0;
  for (int i = 0; i < cases; ++i) {
    const Case<Element> drawn = random_case<Element>(random);
    std::vector<Element> expected = testing::literal_tree(drawn.atoms, 0, drawn.atoms.size());
    for (Element& value : expected) value = static_cast<Element>(static_cast<double>(value) / drawn.divisor);
    std::vector<std::vector<Element>> results(static_cast<std::size_t>(drawn.world_size));
    const auto errors = testing::run_ranks(drawn.world_size, [&](Communicator& comm) {
      results[static_cast<std::size_t>(comm.rank())] = on_rank(comm, drawn);
    });
    ASSERT_EQ(errors, testing::nothing_thrown(drawn.world_size));
    for (const std::vector<Element>& result : results) {
      ASSERT_EQ(bits_of<Element>(result), bits_of<Element>(expected))
          << "case " << i << ": " << drawn.atoms.size() << " atoms, " << drawn.world_size << " ranks, " << result.size()
          << " elements";
    }
    with_nan += std::ranges::any_of(expected, [](Element value) { return std::isnan(value); }) ? 1 : 0;
    with_infinity += std::ranges::any_of(expected, [](Element value) { return std::isinf(value); }) ? 1 : 0;
  }
  EXPECT_GT(with_nan, cases / 4) << "NaN must be seen in the result";
  EXPECT_GT(with_infinity, cases / 4);
}

TEST(DistributedTree, EqualsTheSequentialOneBitForBitInFloat32) { expect_tree_for_random_cases<float>(17, 150); }

TEST(DistributedTree, EqualsTheSequentialOneBitForBitInFloat64) { expect_tree_for_random_cases<double>(18, 150); }

}  // namespace
}  // namespace samegrad
