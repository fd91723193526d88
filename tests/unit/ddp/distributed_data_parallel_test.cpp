// DistributedDataParallel outside windows, on threads as ranks: what a user of PyTorch's class relies on.
#include "samegrad/ddp/distributed_data_parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "samegrad/base/error.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad {
namespace {

using ::testing::AllOf;
using testing::Branches;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::rows;
using testing::run_ranks;
using testing::TwoLayers;

World world_of(Communicator& comm) { return World(std::shared_ptr<Communicator>(std::shared_ptr<void>(), &comm)); }

at::Tensor loss_of(const at::Tensor& output) { return output.pow(2).mean(); }

/// The mean over `world_size` ranks of each parameter's gradient, by autograd in one process, in float64.
std::vector<at::Tensor> mean_gradients(int world_size, int step) {
  TwoLayers model;
  model->to(at::kDouble);
  at::Tensor total = at::zeros({}, at::kDouble);
  for (int rank = 0; rank < world_size; ++rank) {
    total = total + loss_of(model->forward(rows(rank, step).to(at::kDouble))) / world_size;
  }
  total.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model->parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

void expect_gradients(const torch::nn::Module& model, const std::vector<at::Tensor>& expected) {
  const std::vector<at::Tensor> parameters = model.parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_TRUE(parameters[i].grad().defined());
    EXPECT_TRUE(at::allclose(parameters[i].grad().to(at::kDouble), expected[i], 1e-5, 1e-6)) << "parameter " << i;
  }
}

class AtEachWorldSize : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(WorldSizes, AtEachWorldSize, ::testing::Values(1, 2, 3, 4));

TEST_P(AtEachWorldSize, BackwardEndsWithTheMeanOverRanks) {
  for (const bool views : {true, false}) {
    EXPECT_THAT(run_ranks(GetParam(),
                          [&](Communicator& comm) {
                            ASSERT_EQ(comm.size(), GetParam());
                            TwoLayers model;
                            DistributedDataParallel ddp(model, world_of(comm), {.gradient_as_bucket_view = views});
                            for (int step = 0; step < 3; ++step) {
                              for (at::Tensor& parameter : model->parameters()) {
                                if (step == 1) parameter.mutable_grad().zero_();
                                if (step == 2) parameter.mutable_grad().reset();
                              }
                              loss_of(ddp.forward(rows(comm.rank(), step))).backward();
                              expect_gradients(*model, mean_gradients(GetParam(), step));
                            }
                          }),
                Each(""));
  }
}

TEST(DistributedDataParallel, ExchangesEachBucketOnceInAWindowOfTwoMicrobatches) {
  // Rank-local gradients add up to 4 and 7 over two microbatches; the mean is 5.5.
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& inner) {
                          testing::CountingCommunicator comm(inner);
                          Branches model;
                          DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
                          {
                            const auto scope = ddp.no_sync();
                            ddp.forward(comm.rank() == 0 ? 1.0 : 2.0, 0.0).backward();
                          }
                          ddp.forward(comm.rank() == 0 ? 3.0 : 5.0, 0.0).backward();
                          EXPECT_FLOAT_EQ(model->p.grad().item<float>(), 5.5F);
                          auto calls = comm.calls();
                          EXPECT_EQ(calls["gradient bucket 0/all_to_all"], 1);
                          EXPECT_EQ(calls["gradient bucket 0/all_gather"], 1);
                        }),
              Each(""));
}

TEST(DistributedDataParallel, AParameterUsedInAnEarlyMicrobatchOnlyIsExchanged) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          Branches model;
                          DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
                          {
                            const auto scope = ddp.no_sync();
                            ddp.forward(comm.rank() == 0 ? 2.0 : 6.0, 0.0).backward();
                          }
                          ddp.forward(0.0, comm.rank() == 0 ? 1.0 : 3.0).backward();
                          EXPECT_FLOAT_EQ(model->p.grad().item<float>(), 4.0F);
                          EXPECT_FLOAT_EQ(model->q.grad().item<float>(), 2.0F);
                        }),
              Each(""));
}

TEST(DistributedDataParallel, AnUnusedParameterIsAnErrorOnAllRanksThatNamesIt) {
  EXPECT_THAT(
      run_ranks(2,
                [](Communicator& comm) {
                  TwoLayers model;
                  DistributedDataParallel ddp(model, world_of(comm));
                  loss_of(ddp.forward(rows(comm.rank(), 0), /*use_b=*/false)).backward();
                }),
      Each(AllOf(HasSubstr("[ddp] backward 1"), HasSubstr("b.weight, b.bias"), HasSubstr("find_unused_parameters"))));
}

TEST(DistributedDataParallel, AParameterThatNoRankUsesKeepsAnUndefinedGradient) {
  EXPECT_THAT(run_ranks(3,
                        [](Communicator& comm) {
                          TwoLayers model;
                          DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
                          loss_of(ddp.forward(rows(comm.rank(), 0), /*use_b=*/false)).backward();
                          EXPECT_TRUE(model->a->weight.grad().defined());
                          EXPECT_FALSE(model->b->weight.grad().defined());
                          // One rank uses it: all get the mean.
                          loss_of(ddp.forward(rows(comm.rank(), 1), comm.rank() == 2)).backward();
                          EXPECT_TRUE(model->b->weight.grad().defined());
                        }),
              Each(""));
}

}  // namespace
}  // namespace samegrad
