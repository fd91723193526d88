// Options and scopes of a wrapped model together: each pair that a user may well write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

/// p's gradient on rank 0 after two microbatches of 1 + rank, the first without exchange.
float accumulated(const CommHook& hook, const DistributedDataParallelOptions& options) {
  float gradient = 0;
  on_ranks(2, [&](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), options);
    if (hook) ddp.register_comm_hook(hook);
    for (int step = 0; step < 3; ++step) {
      model->zero_grad();
      {
        const auto scope = ddp.no_sync();
        ddp.forward(1.0 + comm.rank(), 0.0).backward();
      }
      ddp.forward(1.0 + comm.rank(), 0.0).backward();
      EXPECT_FALSE(model->q.grad().defined());  // no rank used it
    }
    if (comm.rank() == 0) gradient = model->p.grad().item<float>();
  });
  return gradient;
}

TEST(Combinations, AHookOrAStaticGraphWithAccumulationAndUnusedParameters) {
  EXPECT_EQ(accumulated(nullptr, {.find_unused_parameters = true}), 3.0F);
  EXPECT_EQ(accumulated(mean_hook, {.find_unused_parameters = true}), 3.0F);
  EXPECT_EQ(accumulated(sum_hook, {.find_unused_parameters = true}), 6.0F);
  EXPECT_EQ(accumulated(nullptr, {.static_graph = true}), 3.0F);
  EXPECT_EQ(accumulated(nullptr, {.static_graph = true, .overlap = Overlap::kOn}), 3.0F);
}

struct NormedLineImpl : torch::nn::Module {
  NormedLineImpl() : norm(register_module("norm", torch::nn::BatchNorm1d(4))) {}
  at::Tensor forward(const at::Tensor& x) { return norm->forward(x); }
  torch::nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(NormedLine);

TEST(Combinations, JoinWithBatchNormAHookAndAccumulationEndsWithOneModel) {
  for (const bool with_hook : {false, true}) {
    on_ranks(3, [&](Communicator& comm) {
      NormedLine model;
      DistributedDataParallel ddp(model, world_of(comm));
      if (with_hook) ddp.register_comm_hook(mean_hook);
      ddp.join([&] {
        for (int batch = 0; batch <= comm.rank(); ++batch) {
          model->zero_grad();
          {
            const auto scope = ddp.no_sync();
            loss_of(ddp.forward(rows(comm.rank(), batch))).backward();
          }
          loss_of(ddp.forward(rows(comm.rank(), batch + 5))).backward();
          const at::NoGradGuard no_grad;
          for (at::Tensor& parameter : model->parameters()) parameter.sub_(parameter.grad() * 0.1);
        }
      });
      ddp.check_sync();
      EXPECT_EQ(model->norm->num_batches_tracked.item<int>(), 6);  // rank 2 worked last: 3 batches of 2 forwards
    });
  }
}

TEST(Combinations, ASecondBackwardThroughAKeptGraphAddsToTheMean) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm));
    const at::Tensor loss = ddp.forward(2.0 + 2.0 * comm.rank(), 1.0);
    loss.backward({}, /*keep_graph=*/true);
    EXPECT_EQ(model->p.grad().item<float>(), 3.0F);
    loss.backward();
    EXPECT_EQ(model->p.grad().item<float>(), 6.0F);
  });
}

TEST(Combinations, OneWrappedModelInsideAnotherExchangesOnceEach) {
  struct Outer : torch::nn::Module {
    explicit Outer(const World& world)
        : inner(TwoLayers(), world), last(register_module("last", torch::nn::Linear(2, 2))) {
      fill(*last);
    }
    at::Tensor forward(const at::Tensor& x) { return last->forward(inner.forward(x)); }
    DistributedDataParallel<TwoLayers> inner;
    torch::nn::Linear last{nullptr};
  };
  on_ranks(2, [](Communicator& comm) {
    const auto outer = std::make_shared<Outer>(world_of(comm));
    DistributedDataParallel ddp(outer, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    const World world = world_of(comm);
    const std::vector<at::Tensor> gradients{outer->last->weight.grad(), outer->inner.module()->a->weight.grad()};
    for (const at::Tensor& gradient : gradients) {
      at::Tensor mean = gradient.clone();
      exchange_gradient(comm, mean, {}, {"compare", 1});
      EXPECT_TRUE(at::equal(mean, gradient));  // the same on both ranks
    }
  });
}

}  // namespace
}  // namespace samegrad::testing
