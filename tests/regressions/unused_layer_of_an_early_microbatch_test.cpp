// pytorch/pytorch#69031, mosaicml/composer#9: a layer used in an early microbatch but not in the last was never
// exchanged.
#include <gtest/gtest.h>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

TEST(UnusedLayerOfAnEarlyMicrobatch, IsExchangedWithTheLastOne) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    {
      const auto scope = ddp.no_sync();
      ddp.forward(/*p=*/comm.rank() == 0 ? 2.0 : 6.0, /*q=*/0.0).backward();
    }
    ddp.forward(/*p=*/0.0, /*q=*/comm.rank() == 0 ? 1.0 : 3.0).backward();
    EXPECT_EQ(model->p.grad().item<float>(), 4.0F);
    EXPECT_EQ(model->q.grad().item<float>(), 2.0F);
  });
}

}  // namespace
}  // namespace samegrad::testing
