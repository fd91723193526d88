// Parameters that a backward does not reach, on some ranks or on all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(UnusedParameters, AreAnErrorOnAllRanksThatNamesThemAtTheEndOfThisBackward) {
  for (const bool only_rank_1 : {false, true}) {
    const auto errors = run_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm));
      loss_of(ddp.forward(rows(comm.rank(), 0), /*use_b=*/only_rank_1 && comm.rank() == 0)).backward();
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("[ddp] backward 1: rank " + std::string(only_rank_1 ? "1" : "0")),
                                   HasSubstr("b.weight, b.bias;"), HasSubstr("find_unused_parameters"))));
  }
}

TEST(UnusedParameters, ThatNoRankUsesKeepAnUndefinedGradientAndOthersGetTheMean) {
  on_ranks(3, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    loss_of(ddp.forward(rows(comm.rank(), 0), /*use_b=*/false)).backward();
    EXPECT_TRUE(model->a->weight.grad().defined());
    EXPECT_FALSE(model->b->weight.grad().defined());
    loss_of(ddp.forward(rows(comm.rank(), 1), comm.rank() == 2)).backward();
    TwoLayers alone;
    loss_of(alone->forward(rows(2, 1))).backward();
    EXPECT_TRUE(at::allclose(model->b->weight.grad(), alone->b->weight.grad() / 3));
  });
}

TEST(UnusedParameters, KeepADefinedGradientWhereNoRankUsesThem) {
  on_ranks(3, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    model->q.mutable_grad() = at::full({1}, 0.1F);
    ddp.forward(1.0, 0.0).backward();
    EXPECT_EQ(model->q.grad().item<float>(), 0.1F);
  });
}

TEST(UnusedParameters, UsedInAnEarlyMicrobatchOnlyAreExchanged) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm));  // both are used in the window: no detection is needed
    {
      const auto scope = ddp.no_sync();
      ddp.forward(comm.rank() == 0 ? 2.0 : 6.0, 0.0).backward();
    }
    ddp.forward(0.0, comm.rank() == 0 ? 1.0 : 3.0).backward();
    EXPECT_FLOAT_EQ(model->p.grad().item<float>(), 4.0F);
    EXPECT_FLOAT_EQ(model->q.grad().item<float>(), 2.0F);
  });
}

TEST(UnusedParameters, DroppedAtRandomForTwentyStepsNeverLetModelsDrift) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    std::uint32_t state = 7U + static_cast<std::uint32_t>(comm.rank());
    const auto factor = [&] {
      state = state * 1664525U + 1013904223U;
      return (state >> 30U) % 2U == 0U ? 0.0 : static_cast<double>(state >> 24U);
    };
    for (int step = 0; step < 20; ++step) {
      model->zero_grad();
      const double p = factor();
      const double q = p == 0.0 ? 1.0 : factor();  // a loss needs something
      ddp.forward(p, q).backward();
      const at::NoGradGuard no_grad;
      for (at::Tensor& parameter : model->parameters()) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad() * 0.01);
      }
      ddp.check_sync();
    }
  });
}

TEST(UnusedParameters, ALaterFrozenOneOfAnotherDtypeIsNoObstacle) {
  struct Net : torch::nn::Module {
    Net() : a(register_module("a", torch::nn::Linear(4, 2))) {
      fill(*this);
      register_parameter("frozen", at::zeros({3}, at::kDouble), /*requires_grad=*/false);
    }
    at::Tensor forward(const at::Tensor& x) { return a->forward(x); }
    torch::nn::Linear a{nullptr};
  };
  on_ranks(2, [](Communicator& comm) {
    DistributedDataParallel ddp(std::make_shared<Net>(), world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(ddp.module()->a->weight.grad().defined());
  });
}

TEST(StaticGraph, LearnsTheUnusedInTheFirstBackwardAndNamesWhatDiffersLater) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), {.static_graph = true});
    for (int step = 0; step < 2; ++step) loss_of(ddp.forward(rows(comm.rank(), step), /*use_b=*/false)).backward();
    EXPECT_FALSE(model->b->weight.grad().defined());
    loss_of(ddp.forward(rows(comm.rank(), 2), /*use_b=*/comm.rank() == 1)).backward();
    ADD_FAILURE() << "no error";
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("backward 3: b.weight got 1 gradients, 0 in the first backward"),
                                 HasSubstr("static_graph"))));
}

/// A parameter used by two layers gets its gradients in two places of backward.
struct SharedImpl : torch::nn::Module {
  SharedImpl() : a(register_module("a", torch::nn::Linear(4, 4))) { fill(*this); }
  at::Tensor forward(const at::Tensor& x) { return a->forward(at::tanh(a->forward(at::tanh(a->forward(x))))); }
  torch::nn::Linear a{nullptr};
};
TORCH_MODULE(Shared);

TEST(AModuleUsedSeveralTimes, HasTheMeanOfItsWholeGradient) {
  for (const bool overlap : {false, true}) {
    on_ranks(2, [&](Communicator& comm) {
      Shared model;
      DistributedDataParallel ddp(model, world_of(comm),
                                  {.static_graph = true, .overlap = overlap ? Overlap::kOn : Overlap::kOff});
      for (int step = 0; step < 3; ++step) {
        model->zero_grad();
        loss_of(ddp.forward(rows(comm.rank(), step))).backward();
        Shared alone;
        ((loss_of(alone->forward(rows(0, step))) + loss_of(alone->forward(rows(1, step)))) / 2).backward();
        EXPECT_TRUE(at::allclose(model->a->weight.grad(), alone->a->weight.grad(), 1e-5, 1e-6));
      }
    });
  }
}

/// Two parameters, of which an output through the input alone uses none.
struct AroundImpl : torch::nn::Module {
  AroundImpl() : a(register_module("a", torch::nn::Linear(4, 4))) { fill(*this); }
  at::Tensor forward(const at::Tensor& x, bool around) { return around ? x * 2 : a->forward(x); }
  torch::nn::Linear a{nullptr};
};
TORCH_MODULE(Around);

void backward_without_parameters_on_rank_1(Communicator& comm, Around& model, bool find_unused) {
  DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = find_unused});
  const at::Tensor x = rows(comm.rank(), 0).requires_grad_(true);
  loss_of(ddp.forward(x, /*around=*/comm.rank() == 1)).backward();
}

TEST(UnusedParameters, ARankWhoseLossUsesNoneGivesZerosToTheMean) {
  on_ranks(2, [](Communicator& comm) {
    Around model;
    backward_without_parameters_on_rank_1(comm, model, /*find_unused=*/true);
    Around alone;
    (loss_of(alone->forward(rows(0, 0), false)) / 2).backward();
    EXPECT_TRUE(at::allclose(model->a->weight.grad(), alone->a->weight.grad(), 1e-5, 1e-7));
  });
  const auto errors = run_ranks(2, [](Communicator& comm) {
    Around model;
    backward_without_parameters_on_rank_1(comm, model, /*find_unused=*/false);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1 has no gradient for a.weight, a.bias")));
}

TEST(UnusedParameters, ARankWhoseOutputHasNoGraphEndsAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    ddp.forward(comm.rank() == 0 ? 1.0 : 0.0, 0.0).backward();  // libtorch refuses it on rank 1
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 (pid "));
  EXPECT_THAT(errors[1], HasSubstr("does not require grad"));
}

}  // namespace
}  // namespace samegrad::testing
