// What a window costs, counted where it is paid: bytes at the communicator, gradient buffers at the pool.
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/status_image.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

constexpr std::array<std::int64_t, 18> kAtomCounts{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 21, 32, 33, 48, 63, 64, 100};
constexpr std::array<int, 12> kWorldSizes{1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 33, 64};

struct RankCosts {
  std::int64_t gradient_bytes = 0;  ///< sent to other ranks
  std::int64_t buffers = 0;
};

/// A window whose atom a has the gradient a + 1 in each of `elements` components; every rank's costs.
std::vector<RankCosts> run_window(std::int64_t atoms, int world_size, std::int64_t elements) {
  std::vector<RankCosts> costs(static_cast<std::size_t>(world_size));
  const auto errors = testing::run_ranks(world_size, [&](Communicator& inner) {
    testing::CountingCommunicator comm(inner);
    FlatParameters parameters({{"weight", {elements}}});
    GradientBufferPool pool(parameters.set());
    const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
    Window window(parameters.set(), pool, comm, {.count = range.size(), .atoms = range.size()});
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(1, [&] { return (parameters.tensors()[0] * static_cast<double>(atom + 1)).sum(); });
    }
    window.reduce();
    const float mean = static_cast<float>(static_cast<double>(atoms + 1) / 2.0);  // exact: small integers and halves
    const auto gradient = window.gradient().first(static_cast<std::size_t>(elements));
    EXPECT_TRUE(std::ranges::all_of(gradient, [&](float value) { return value == mean; })) << atoms;
    std::map<std::string, std::int64_t> sent = comm.bytes_to_peers();  // nothing where there is one rank
    costs[static_cast<std::size_t>(comm.rank())] = {sent["gradient"], pool.buffers_made()};
  });
  EXPECT_EQ(errors, testing::nothing_thrown(world_size));
  return costs;
}

/// Nodes of the tree over [begin, end) needed to cover [from, to), by the tree's definition.
std::int64_t covering_nodes(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to) {
  if (to <= begin || end <= from) return 0;
  if (from <= begin && end <= to) return 1;
  std::int64_t power = 1;
  while (power * 2 < end - begin) power *= 2;
  return covering_nodes(begin, begin + power, from, to) + covering_nodes(begin + power, end, from, to);
}

std::int64_t most_subtrees_of_a_rank(std::int64_t atoms, int world_size) {
  std::int64_t most = 0;
  for (const AtomRange& range : rank_ranges(atoms, world_size)) {
    most = std::max(most, covering_nodes(0, atoms, range.begin, range.end));
  }
  return most;
}

TEST(WindowCosts, EveryRankSendsHalfOfMPlusOneTimesARingAllReduce) {
  for (const int world_size : kWorldSizes) {
    const std::int64_t elements = std::int64_t{16} * world_size * 3;  // shards without a remainder
    const std::int64_t ring = 2 * (world_size - 1) * elements * static_cast<std::int64_t>(sizeof(float)) / world_size;
    for (const std::int64_t atoms : kAtomCounts) {
      const std::int64_t most = most_subtrees_of_a_rank(atoms, world_size);
      const ExchangeCost said = exchange_cost(rank_ranges(atoms, world_size), elements, sizeof(float), 1 << 18);
      ASSERT_EQ(said.subtrees, most);
      for (const RankCosts& rank : run_window(atoms, world_size, elements)) {
        ASSERT_EQ(2 * rank.gradient_bytes, (most + 1) * ring) << atoms << " atoms, " << world_size << " ranks";
        ASSERT_EQ(rank.gradient_bytes, said.volume.bytes_sent) << atoms << " atoms, " << world_size << " ranks";
      }
    }
  }
}

// A ring moves no remainder either way; here a shard is rounded up to a cache line, in each of the m + 1 passes.
TEST(WindowCosts, ARemainderCostsAtMostOneCacheLineAShard) {
  constexpr std::int64_t kElements = 1'009;
  for (const int world_size : {2, 3, 5, 8}) {
    for (const std::int64_t atoms : {std::int64_t{8}, std::int64_t{11}}) {
      const std::int64_t passes = most_subtrees_of_a_rank(atoms, world_size) + 1;
      const std::int64_t exact = passes * (world_size - 1) * kElements * 4 / world_size;
      for (const RankCosts& rank : run_window(atoms, world_size, kElements)) {
        EXPECT_GE(rank.gradient_bytes, exact);
        EXPECT_LE(rank.gradient_bytes, exact + passes * (world_size - 1) * 64);
        const auto said = exchange_cost(rank_ranges(atoms, world_size), kElements, sizeof(float), 1 << 18);
        EXPECT_EQ(rank.gradient_bytes, said.volume.bytes_sent);
      }
    }
  }
}

TEST(WindowCosts, ARankHoldsAtMostTwiceLogarithmicallyManyBuffersAndOneSubtreeHalfOfThat) {
  for (const int world_size : kWorldSizes) {
    for (const std::int64_t atoms : kAtomCounts) {
      const std::vector<RankCosts> costs = run_window(atoms, world_size, 16);
      const std::vector<AtomRange> ranges = rank_ranges(atoms, world_size);
      for (std::size_t r = 0; r < costs.size(); ++r) {
        const auto floor_log2 = [](std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n)) - 1; };
        const auto ceil_log2 = [&](std::int64_t n) { return n == 1 ? 0 : floor_log2(n - 1) + 1; };
        ASSERT_EQ(costs[r].buffers, sums_held(atoms, ranges[r]))
            << atoms << " atoms, rank " << r << " of " << world_size;
        ASSERT_LE(costs[r].buffers, 2 * ceil_log2(atoms) + 1) << atoms << " atoms, rank " << r << " of " << world_size;
        if (covering_nodes(0, atoms, ranges[r].begin, ranges[r].end) == 1) {
          ASSERT_LE(costs[r].buffers, ceil_log2(ranges[r].size()) + 1)
              << atoms << " atoms, rank " << r << " of " << world_size;
        }
      }
    }
  }
}

// Agreement, failures, loss sums, gradient.
TEST(WindowCosts, OverSharedMemoryAWindowIsFourCallsForItsGradientGoesInOne) {
  for (const int world_size : {2, 3, 5}) {
    std::vector<StatusImage> images(static_cast<std::size_t>(world_size));
    const auto errors = testing::run_ranks(world_size, [&](Communicator& comm) {
      StatusImage& image = images[static_cast<std::size_t>(comm.rank())];
      dynamic_cast<KeepsStatus&>(comm).status().place_in_memory(image);
      FlatParameters parameters({{"weight", {100'003}}});
      GradientBufferPool pool(parameters.set());
      const AtomRange range = rank_ranges(7, world_size)[static_cast<std::size_t>(comm.rank())];
      Window window(parameters.set(), pool, comm, {.count = range.size(), .atoms = range.size()});
      for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
        window.backward(1, [&] { return (parameters.tensors()[0] * static_cast<double>(atom + 1)).sum(); });
      }
      window.reduce();
      EXPECT_EQ(window.gradient()[100'002], 4.0F);
      const RankStatus status = read_status_image(image, comm.rank()).status.value();
      EXPECT_EQ(status.collectives, 4);
      EXPECT_EQ(status.call.operation, CallOperation::kReduce);
    });
    EXPECT_EQ(errors, testing::nothing_thrown(world_size));
  }
}

TEST(WindowCosts, APoolThatIsPlacedElsewhereGivesNoBufferOfBefore) {
  FlatParameters parameters({{"weight", {100}}});
  GradientBufferPool pool(parameters.set());
  const auto ranks = make_thread_communicators(1);
  std::unique_ptr<GradientBuffer> held = pool.take();
  pool.give_back(pool.take());
  pool.place_in(gradient_memory_of(*ranks[0]));
  pool.give_back(std::move(held));
  pool.give_back(pool.take());
  EXPECT_EQ(pool.buffers_made(), 3) << "two before, one after";
  EXPECT_EQ(pool.take()->memory, gradient_memory_of(*ranks[0]));
  EXPECT_EQ(pool.buffers_made(), 3);
}

TEST(WindowCosts, ARankWithoutAtomsRunsNothingAndGetsTheGradient) {
  const std::vector<RankCosts> costs = run_window(3, 8, 16 * 8);  // checks every rank's gradient
  for (std::size_t rank = 3; rank < costs.size(); ++rank) {
    EXPECT_EQ(costs[rank].buffers, 1) << "the result alone";
    EXPECT_EQ(costs[rank].gradient_bytes, costs[0].gradient_bytes);
  }
}

}  // namespace
}  // namespace samegrad
