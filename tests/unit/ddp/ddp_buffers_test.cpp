// A wrapped module's buffers: rank 0's before each training forward, and once before evaluation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct NormedImpl : torch::nn::Module {
  NormedImpl() : norm(register_module("norm", torch::nn::BatchNorm1d(4))) {}
  at::Tensor forward(const at::Tensor& x) { return norm->forward(x); }
  torch::nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Normed);

/// Running means of all ranks after `steps` and then `finish`.
std::vector<at::Tensor> running_means(bool broadcast,
                                      const std::function<void(DistributedDataParallel<Normed>&)>& finish) {
  std::vector<at::Tensor> means(3);
  on_ranks(3, [&](Communicator& comm) {
    Normed model;
    DistributedDataParallel ddp(model, world_of(comm), {.broadcast_buffers = broadcast});
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      (loss_of(ddp.forward(rows(comm.rank(), step) + 10 * comm.rank()))).backward();
    }
    finish(ddp);
    means[static_cast<std::size_t>(comm.rank())] = model->norm->running_mean.clone();
  });
  return means;
}

/// What rank 0 alone makes of its own rows.
at::Tensor mean_of_rank_0() {
  Normed alone;
  for (int step = 0; step < 2; ++step) alone->forward(rows(0, step));
  return alone->norm->running_mean;
}

TEST(Buffers, DifferAfterTheLastTrainingForwardAndAreRank0sInEvaluation) {
  for (const bool broadcast : {true, false}) {
    const auto trained = running_means(broadcast, [](auto&) {});
    EXPECT_FALSE(at::equal(trained[0], trained[1]));  // the control: without the exchange they would be evaluated so
    const std::vector<std::function<void(DistributedDataParallel<Normed>&)>> ways{
        [](auto& ddp) { ddp.eval(); }, [](auto& ddp) { ddp.sync_buffers(); },
        [](auto& ddp) {
          ddp.module()->eval();
          ddp.forward(rows(ddp.world().rank(), 9));
        }};
    for (const auto& finish : ways) {
      for (const at::Tensor& mean : running_means(broadcast, finish)) EXPECT_TRUE(at::equal(mean, mean_of_rank_0()));
    }
  }
}

TEST(Buffers, EvaluationExchangesOnceAndThenIsARanksOwnAffair) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Normed model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    ddp.eval();
    const auto before = comm.calls();
    const at::NoGradGuard no_grad;
    for (int step = 0; step <= comm.rank(); ++step) ddp.forward(rows(comm.rank(), step));
    EXPECT_EQ(comm.calls(), before);
  });
}

TEST(Buffers, OfAnAccumulationAreRank0sBeforeItsFirstForwardOnly) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Normed model;
    DistributedDataParallel ddp(model, world_of(comm));
    for (int update = 0; update < 2; ++update) {
      const auto before = comm.calls();
      {
        const auto scope = ddp.no_sync();
        loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
        const auto after_first = comm.calls();
        EXPECT_NE(after_first, before);
        loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
        EXPECT_EQ(comm.calls(), after_first);
      }
      const auto in_scope = comm.calls();
      const at::Tensor loss = loss_of(ddp.forward(rows(comm.rank(), 2)));
      EXPECT_EQ(comm.calls(), in_scope);
      loss.backward();
    }
  });
}

TEST(Buffers, ACounterAndAFlagTravelToo) {
  on_ranks(2, [](Communicator& comm) {
    Normed model;
    const at::Tensor flag = model->register_buffer("flag", at::full({2}, comm.rank() == 0, at::kBool));
    DistributedDataParallel ddp(model, world_of(comm));
    EXPECT_TRUE(flag.all().item<bool>());
    const at::NoGradGuard no_grad;
    for (int step = 0; step < 2 + comm.rank(); ++step) model->forward(rows(0, step));
    ddp.sync_buffers();
    EXPECT_EQ(model->norm->num_batches_tracked.item<int>(), 2);
  });
}

}  // namespace
}  // namespace samegrad::testing
