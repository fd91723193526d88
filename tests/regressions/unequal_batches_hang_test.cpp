// k2-fsa/snowfall#152, pytorch/pytorch#33148, #38174: ranks with unequal numbers of batches hung at the epoch's end.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

TEST(UnequalBatches, FiveSamplesOnTwoRanksAreThreeUpdatesOnBothAndEachSampleIsUsedOnce) {
  // Units a sample: very different, as lengths are.
  const std::vector<std::int64_t> units{3, 50, 1, 7, 200};
  std::multiset<std::size_t> used;
  std::mutex mutex;
  on_ranks(2, [&](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    int updates = 0;
    for (std::size_t next = 0; ddp.world().any(2 * next + static_cast<std::size_t>(comm.rank()) < units.size());
         ++next) {
      const std::size_t sample = 2 * next + static_cast<std::size_t>(comm.rank());
      const bool has_data = sample < units.size();
      auto window = ddp.window({.count = has_data ? units[sample] : 0, .atoms = has_data ? 1 : 0});
      if (has_data) {
        const std::lock_guard<std::mutex> lock(mutex);
        used.insert(sample);
        window.backward([&] { return ddp.forward(2.0 * static_cast<double>(units[sample]), 0.0).sum(); });
      }
      ASSERT_TRUE(window.reduce());
      ++updates;
      // Each unit of each sample has gradient 2: so has their mean, whoever is out of data.
      EXPECT_EQ(model->p.grad().item<float>(), 2.0F);
      if (next == 2) {
        EXPECT_EQ(window.loss().count, 200);
      }
    }
    EXPECT_EQ(updates, 3);
  });
  EXPECT_EQ(used, (std::multiset<std::size_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace samegrad::testing
