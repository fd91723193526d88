// pytorch/pytorch#128949: with one layer unused and detection off, the used layer silently differed between ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(UnusedLayerLetsTheUsedOneDrift, IsAnErrorOnAllRanksAtTheEndOfThisBackward) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          loss_of(ddp.forward(rows(comm.rank(), 0), /*use_b=*/false)).backward();
                        }),
              Each(AllOf(HasSubstr("backward 1"), HasSubstr("b.weight, b.bias"))));
}

TEST(UnusedLayerLetsTheUsedOneDrift, AStepWithARanksOwnGradientIsFoundByTheCheck) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
                          loss_of(model->forward(rows(comm.rank(), 0), /*use_b=*/false)).backward();  // not exchanged
                          const at::NoGradGuard no_grad;
                          model->a->weight.sub_(model->a->weight.grad() * 0.1);
                          ddp.check_sync();
                        }),
              Each(HasSubstr("a.weight differs between rank 0 and rank 1")));
}

}  // namespace
}  // namespace samegrad::testing
