// Windows over a user's module: the loop of the documentation, on any number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/deep_model.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(WindowOfAModule, HasTheGradientOfTheMeanOverAllUnits) {
  on_ranks(3, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const std::vector<Atom> atoms = atoms_of(ddp.world(), 1);
    std::int64_t n = 0;
    for (const Atom& atom : atoms) n += atom.units;
    auto window = ddp.window({.count = n, .atoms = atoms.size()});
    for (const Atom& atom : atoms) window.backward([&] { return ddp.forward(atom.x).pow(2).sum(); });
    ASSERT_TRUE(window.reduce());
    EXPECT_EQ(window.loss().count, 40);
    TwoLayers alone;
    alone->to(at::kDouble);
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (std::int64_t a = 0; a < kAtoms; ++a) {
      sum = sum + alone->forward(rows(static_cast<int>(a), 1, 2 + a).to(at::kDouble)).pow(2).sum();
    }
    (sum / 40).backward();
    EXPECT_TRUE(at::allclose(model->a->weight.grad().to(at::kDouble), alone->a->weight.grad(), 1e-5, 1e-7));
  });
}

TEST(WindowOfAModule, ExchangesNothingBesideItsOwnCalls) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    const auto before = comm.calls();
    window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
    EXPECT_EQ(comm.calls(), before);
    window.reduce();
    EXPECT_EQ(comm.calls().count("end of backward/all_gather"), 0U);
    EXPECT_EQ(ddp.core().reducer().bucket_bytes(), 0);
  });
}

TEST(WindowOfAModule, LeavesTheDefaultGeneratorAsItWas) {
  on_ranks(1, [](Communicator& comm) {
    Deep model;
    DistributedDataParallel ddp(model, world_of(comm));
    at::manual_seed(11);
    const at::Tensor expected = at::rand({3});
    at::manual_seed(11);
    auto window = ddp.window({.count = 1, .atoms = 1});
    window.backward([&] { return ddp.forward(rows(0, 0)).sum(); });
    window.reduce();
    EXPECT_TRUE(at::equal(at::rand({3}), expected));
  });
}

TEST(WindowOfAModule, TakesTurnsWithPlainBackwardPasses) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      loss_of(ddp.forward(rows(comm.rank(), step))).backward();
      const at::Tensor plain = model->a->weight.grad().clone();
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), step))); });
      ASSERT_TRUE(window.reduce());
      // Each rank brings one unit: the mean over units is the mean over ranks.
      EXPECT_TRUE(at::allclose(model->a->weight.grad(), plain, 1e-5, 1e-7));
    }
  });
}

TEST(WindowOfAModule, AForwardOutsideItsCallableIsAnErrorOnAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    if (comm.rank() == 1) {
      const at::Tensor early = ddp.forward(rows(comm.rank(), 0));
      window.backward([&] { return loss_of(early); });
    } else {
      window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
    }
    window.reduce();
  });
  EXPECT_THAT(errors[1], HasSubstr("[ddp] forward outside window.backward"));
  EXPECT_NE(errors[0], "");
}

TEST(WindowOfAModule, SkipsOnAllRanksWhereNothingIsSupervised) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    auto window = ddp.window({.count = 0, .atoms = 1, .empty_window = EmptyWindowPolicy::kSkip});
    window.backward([&] {
      ADD_FAILURE() << "a skipped window runs nothing";
      return at::Tensor();
    });
    EXPECT_FALSE(window.reduce());
    EXPECT_FALSE(model->a->weight.grad().defined());
  });
}

TEST(WindowOfAModule, LeftWithoutReduceGivesNoGradientAndTheNextIsRefusedOnAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    {
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
      EXPECT_FALSE(model->a->weight.grad().defined());  // a step here moves nothing
    }
    EXPECT_FALSE(model->a->weight.grad().defined());
    ddp.window({.count = 1, .atoms = 1});
    ADD_FAILURE() << "not refused";
  });
  EXPECT_THAT(errors, Each(HasSubstr("the window of update 1 was left without reduce()")));
}

TEST(WindowOfAModule, ACallableThatRunsBackwardItselfOrReturnsNothingIsRefusedOnAllRanks) {
  for (const bool runs_backward : {true, false}) {
    const auto errors = run_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm));
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward([&] {
        const at::Tensor loss = loss_of(ddp.forward(rows(comm.rank(), 0)));
        if (comm.rank() == 0) return loss;
        if (runs_backward) loss.backward({}, /*keep_graph=*/true);
        return runs_backward ? loss : at::Tensor();
      });
      window.reduce();
    });
    EXPECT_THAT(errors, Each(HasSubstr(runs_backward ? "before the window's own backward" : "returned no tensor")));
  }
}

TEST(WindowOfAModule, ParametersThatDriftApartAreFoundEveryFewWindows) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), {.check_sync_every = 2});
    for (int update = 1; update <= 3; ++update) {
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
      window.reduce();
      const at::NoGradGuard no_grad;
      if (update == 1 && comm.rank() == 1) model->b->bias.add_(1);
    }
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("check after window 2"), HasSubstr("b.bias differs"))));
}

TEST(WindowOfAModule, AFrozenParameterHasNoGradientLeft) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    for (int update = 1; update <= 2; ++update) {
      if (update == 2) model->b->bias.requires_grad_(false);
      auto window = ddp.window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
      ASSERT_TRUE(window.reduce());
      EXPECT_EQ(model->b->bias.grad().defined(), update == 1);
    }
  });
}

TEST(WindowOfAModule, OfHalfPrecisionIsRefusedByName) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          model->b->to(at::kBFloat16);
                          DistributedDataParallel ddp(model, world_of(comm));
                          ddp.window({.count = 1, .atoms = 1});
                        }),
              Each(AllOf(HasSubstr("b.weight"), HasSubstr("BFloat16"))));
}

}  // namespace
}  // namespace samegrad::testing
