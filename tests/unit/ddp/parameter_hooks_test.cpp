// A user's own hook on a parameter, in the one place that libtorch has for it after a gradient was added.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/optim/sgd.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct Told final : torch::autograd::PostAccumulateGradHook {
  explicit Told(std::function<void(const at::Tensor&)> callable) : call(std::move(callable)) {}
  void operator()(const torch::autograd::Variable& tensor) override { call(tensor); }
  std::function<void(const at::Tensor&)> call;
};

void after_each_gradient(const at::Tensor& parameter, std::function<void(const at::Tensor&)> call) {
  torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Told>(std::move(call)));
}

at::Tensor own_gradient(int rank) {
  TwoLayers alone;
  loss_of(alone->forward(rows(rank, 0))).backward();
  return alone->b->weight.grad();
}

TEST(AHookAfterEachGradient, SeesTheRanksOwnGradientAndTheExchangeFollows) {
  for (const bool before_wrapping : {true, false}) {
    on_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      std::vector<at::Tensor> seen;
      const auto hook = [&] {
        after_each_gradient(model->b->weight, [&](const at::Tensor& p) { seen.push_back(p.grad().clone()); });
      };
      if (before_wrapping) hook();
      DistributedDataParallel ddp(model, world_of(comm));
      if (!before_wrapping) hook();
      loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
      ASSERT_EQ(seen.size(), 1U);
      EXPECT_TRUE(at::allclose(seen[0], own_gradient(comm.rank()), 1e-5, 1e-7));
      EXPECT_TRUE(at::allclose(model->b->weight.grad(), (own_gradient(0) + own_gradient(1)) / 2, 1e-5, 1e-7));

      auto window = ddp.window({.count = 2, .atoms = 2});
      for (int atom = 0; atom < 2; ++atom) {
        window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
      }
      ASSERT_TRUE(window.reduce());
      ASSERT_EQ(seen.size(), 3U);
      EXPECT_TRUE(at::equal(seen[1], seen[2]));
    });
  }
}

/// One rank's parameter steps as soon as its gradient is there.
void train_with_a_step_in_backward(Communicator& comm, bool in_a_window, int stepping_rank) {
  TwoLayers model;
  DistributedDataParallel ddp(model, world_of(comm));
  torch::optim::SGD optimizer({model->b->weight}, 0.1);
  if (comm.rank() == stepping_rank) {
    after_each_gradient(model->b->weight, [&](const at::Tensor&) {
      optimizer.step();
      optimizer.zero_grad(/*set_to_none=*/false);
    });
  }
  const auto loss = [&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); };
  if (!in_a_window) {
    loss().backward();
    return;
  }
  auto window = ddp.window({.count = 1, .atoms = 1});
  window.backward(loss);
  window.reduce();
}

TEST(AHookThatStepsInsideBackward, IsAnErrorOnAllRanksThatNamesTheParameter) {
  for (const bool in_a_window : {false, true}) {
    const auto errors = run_ranks(
        2, [&](Communicator& comm) { train_with_a_step_in_backward(comm, in_a_window, /*stepping_rank=*/1); });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("b.weight was changed while "), HasSubstr("steps an optimizer"))));
  }
}

TEST(AHookThatStepsInsideBackward, IsAUsersOwnAffairOnOneRank) {
  on_ranks(1, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const at::Tensor before = model->b->weight.detach().clone();
    after_each_gradient(model->b->weight, [](const at::Tensor& parameter) {
      const at::NoGradGuard no_grad;
      at::Tensor(parameter).sub_(parameter.grad());
    });
    loss_of(ddp.forward(rows(0, 0))).backward();
    EXPECT_TRUE(at::allclose(before - model->b->weight, own_gradient(0), 1e-5, 1e-6));
  });
}

}  // namespace
}  // namespace samegrad::testing
