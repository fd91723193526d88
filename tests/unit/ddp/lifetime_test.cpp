// What is left when a wrapper, its model or its world goes before the things that it gave out: it works on, or says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/comm/single_communicator.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Wrapped = DistributedDataParallel<TwoLayers>;

/// The gradient of `model`'s first weight is the mean over ranks of step 0.
void expect_mean(const TwoLayers& model, int world_size) {
  TwoLayers alone;
  at::Tensor total = at::zeros({});
  for (int rank = 0; rank < world_size; ++rank) total = total + loss_of(alone->forward(rows(rank, 0))) / world_size;
  total.backward();
  EXPECT_TRUE(at::allclose(model->a->weight.grad(), alone->a->weight.grad(), 1e-5, 1e-7));
}

/// `body` fails by an InputError with `line`.
template <typename Body>
void expect_refused(const char* line, const Body& body) {
  try {
    body();
    ADD_FAILURE() << "not refused: " << line;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(line));
  }
}

TEST(AWindow, IsReducedAlsoWhereItsWrapperHasGoneAndItsGradientStays) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    {
      auto window = ddp->window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp->forward(rows(comm.rank(), 0))); });
      ddp.reset();
      ASSERT_TRUE(window.reduce());
    }
    expect_mean(model, 2);
  });
}

TEST(AWindow, RunsItsAtomsOnTheModelItselfWhereItsWrapperHasGone) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    auto window = ddp->window({.count = 1, .atoms = 1});
    ddp.reset();
    window.backward([&] { return loss_of(model->forward(rows(comm.rank(), 0))); });
    ASSERT_TRUE(window.reduce());
    expect_mean(model, 2);
  });
}

TEST(AWindow, LeftWithoutReduceAfterItsWrapperGivesNoGradient) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    {
      auto window = ddp->window({.count = 1, .atoms = 1});
      window.backward([&] { return loss_of(ddp->forward(rows(comm.rank(), 0))); });
      ddp.reset();
    }
    EXPECT_FALSE(model->a->weight.grad().defined());
  });
}

TEST(AWindow, ThatWasReducedMayOutliveALayoutMadeAnew) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    Wrapped ddp(model, world_of(comm));
    auto first = ddp.window({.count = 1, .atoms = 1});
    first.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
    ASSERT_TRUE(first.reduce());
    model->b->bias.requires_grad_(false);
    auto second = ddp.window({.count = 1, .atoms = 1});
    second.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
    ASSERT_TRUE(second.reduce());
    expect_mean(model, 2);
  });
}

TEST(AWindow, WhileAnotherIsOpenIsRefusedAndTheFirstGoesOn) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    Wrapped ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    expect_refused("[ddp] window: the window of update 1 is open", [&] { ddp.window({.count = 1, .atoms = 1}); });
    window.backward([&] { return loss_of(ddp.forward(rows(comm.rank(), 0))); });
    ASSERT_TRUE(window.reduce());
    expect_mean(model, 2);
  });
}

TEST(AGraph, OfAWrapperThatHasGoneIsRefusedInBackward) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    const at::Tensor loss = loss_of(ddp->forward(rows(comm.rank(), 0)));
    ddp.reset();
    for (int time = 0; time < 2; ++time) {
      expect_refused("[ddp] backward of a forward whose DistributedDataParallel is gone",
                     [&] { loss.backward({}, /*keep_graph=*/true); });
    }
    EXPECT_FALSE(model->a->weight.grad().defined());
  });
}

TEST(AGraph, OfWhichNoExchangeWasExpectedOutlivesItsWrapper) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    const at::Tensor taken = loss_of(ddp->forward(rows(comm.rank(), 0)));
    std::optional<NoSync> scope;
    scope.emplace(ddp->core());
    const at::Tensor own = loss_of(ddp->forward(rows(comm.rank(), 0)));
    ddp.reset();
    own.backward();
    const auto gradients = torch::autograd::grad({taken}, {model->a->weight});
    EXPECT_TRUE(at::equal(gradients[0], model->a->weight.grad()));
  });
}

TEST(AGraph, FromBeforeParametersWereFrozenIsRefusedInBackward) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          Wrapped ddp(model, world_of(comm));
                          const at::Tensor before = loss_of(ddp.forward(rows(comm.rank(), 0)));
                          model->b->bias.requires_grad_(false);
                          loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
                          before.backward();
                        }),
              Each(HasSubstr("laid out anew as parameters were frozen")));
}

TEST(AScopeWithoutExchange, MayOutliveItsWrapper) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    std::optional<Wrapped> ddp(std::in_place, model, world_of(comm));
    const auto scope = ddp->no_sync();
    ddp.emplace(model, world_of(comm));  // of which the scope knows nothing
    loss_of(ddp->forward(rows(comm.rank(), 0))).backward();
    expect_mean(model, 2);
  });
}

TEST(AModel, ThatItsUserLetsGoLivesOnInItsWrapper) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    Wrapped ddp(model, world_of(comm));
    const TwoLayers seen = std::exchange(model, TwoLayers(nullptr));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    expect_mean(seen, 2);
  });
  on_ranks(1, [](Communicator& comm) {
    auto ddp = std::make_unique<Wrapped>(TwoLayers(), world_of(comm));
    auto window = ddp->window({.count = 1, .atoms = 1});
    window.backward([&] { return loss_of(ddp->forward(rows(0, 0))); });
    const at::Tensor weight = ddp->module()->a->weight;
    ddp.reset();  // and the module with it
    ASSERT_TRUE(window.reduce());
    EXPECT_TRUE(weight.grad().defined());
  });
}

TEST(AWorld, ThatItsUserLetsGoLivesOnInWrapperAndWindow) {
  TwoLayers model;
  auto world = std::make_unique<World>(std::make_shared<SingleCommunicator>());
  auto ddp = std::make_unique<Wrapped>(model, *world);
  world.reset();
  loss_of(ddp->forward(rows(0, 0))).backward();
  expect_mean(model, 1);
  model->zero_grad();
  auto window = ddp->window({.count = 1, .atoms = 1});
  window.backward([&] { return loss_of(ddp->forward(rows(0, 0))); });
  ddp.reset();
  ASSERT_TRUE(window.reduce());
  expect_mean(model, 1);
}

TEST(AWorld, ThatWasMovedFromIsStillTheWorld) {
  World world(std::make_shared<SingleCommunicator>());
  const World moved = std::move(world);
  EXPECT_EQ(world.size(), 1);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(&world.communicator(), &moved.communicator());
}

TEST(AWrapper, ThatWasMovedFromIsRefusedInEveryCallAndTheNewOneWorks) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    Wrapped old(model, world_of(comm));
    Wrapped ddp = std::move(old);
    const std::vector<std::function<void()>> calls{
        // NOLINTBEGIN(bugprone-use-after-move)
        [&] { old.forward(rows(0, 0)); },
        [&] { old(rows(0, 0)); },
        [&] { old.window({.count = 1, .atoms = 1}); },
        [&] { const auto scope = old.no_sync(); },
        [&] { old.join([] {}); },
        [&] { old.register_comm_hook(mean_hook); },
        [&] { old.train(); },
        [&] { old.eval(); },
        [&] { old.sync_buffers(); },
        [&] { old.check_sync(); },
        [&] { old.world(); },
        [&] { old.describe(); },
        [&] { old.core(); },
        // NOLINTEND(bugprone-use-after-move)
    };
    for (const auto& call : calls) expect_refused("[ddp] this DistributedDataParallel was moved from", call);
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    expect_mean(model, 2);
  });
}

}  // namespace
}  // namespace samegrad::testing
