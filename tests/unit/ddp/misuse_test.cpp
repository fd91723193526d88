// Calls that make no sense: each is refused by one line that says so, on all ranks, and nobody waits for anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Wrapped = DistributedDataParallel<Branches>;

template <typename Step>
std::string refusal_of(const Step& step) {
  try {
    step();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Misuse, ASecondWindowWhileOneIsOpenIsRefusedAndTheFirstGoesOn) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Branches model;
    Wrapped ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    const auto before = comm.calls();
    EXPECT_EQ(refusal_of([&] { ddp.window({.count = 1, .atoms = 1}); }),
              "[ddp] window: the window of update 1 is open; end it with reduce() before the next one");
    EXPECT_EQ(comm.calls(), before);
    window.backward([&] { return ddp.forward(2.0, 1.0); });
    EXPECT_TRUE(window.reduce());
    EXPECT_EQ(model->p.grad().item<float>(), 2.0F);
    EXPECT_EQ(refusal_of([&] { ddp.window({.count = 1, .atoms = 1}); }), "");
  });
}

TEST(Misuse, ASecondWindowOnOneRankEndsAllByAnErrorThatNamesTheRank) {
  const std::vector<std::string> errors = run_ranks(3, [](Communicator& comm) {
    Branches model;
    Wrapped ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    if (comm.rank() == 1) ddp.window({.count = 1, .atoms = 1});
    window.backward([&] { return ddp.forward(2.0, 1.0); });
    window.reduce();
  });
  EXPECT_THAT(errors[1], HasSubstr("the window of update 1 is open"));
  EXPECT_THAT(errors[0], HasSubstr("rank 1, update 1: left the window before its exchange"));
  EXPECT_EQ(errors[0], errors[2]);
}

TEST(Misuse, AWindowInsideTheCallableOfAnotherIsThatWindowsErrorOnAllRanks) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          Branches model;
                          Wrapped ddp(model, world_of(comm));
                          auto window = ddp.window({.count = 1, .atoms = 1});
                          window.backward([&] {
                            if (comm.rank() == 1) ddp.window({.count = 1, .atoms = 1});
                            return ddp.forward(2.0, 1.0);
                          });
                          window.reduce();
                        }),
              Each(HasSubstr("[ddp] window: the window of update 1 is open")));
}

TEST(Misuse, AWindowInsideJoinIsRefusedOnAllRanksAlsoOnThoseOutOfData) {
  for (const int with_data : {2, 1}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Communicator& comm) {
                            Branches model;
                            Wrapped ddp(model, world_of(comm));
                            ddp.join([&] {
                              if (comm.rank() < with_data) ddp.window({.count = 1, .atoms = 1});
                            });
                          }),
                Each(HasSubstr("[ddp] window inside join: a window has its own way for ranks without data; leave join "
                               "away, bring .atoms = 0, and end the loop by world.any(has_data)")));
  }
}

TEST(Misuse, JoinInsideAWindowOrInsideJoinIsRefused) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    Wrapped ddp(model, world_of(comm));
    auto window = ddp.window({.count = 1, .atoms = 1});
    EXPECT_EQ(refusal_of([&] { ddp.join([] {}); }), "[ddp] join: a window is open; end it with reduce() before join");
    window.backward([&] { return ddp.forward(2.0, 1.0); });
    window.reduce();
    ddp.join([&] {
      EXPECT_EQ(refusal_of([&] { ddp.join([] {}); }), "[ddp] join: one inside another; allowed is one at a time");
    });
  });
}

TEST(Misuse, ASecondWrapperOfATrainedParameterIsRefusedByNameOnAllRanks) {
  struct Sharing : torch::nn::Module {
    explicit Sharing(Branches shared) : branches(register_module("branches", std::move(shared))) {}
    Branches branches;
  };
  on_ranks(3, [](Communicator& comm) {
    Branches model;
    auto first = std::make_unique<Wrapped>(model, world_of(comm));
    const std::string refused =
        " is trained by another DistributedDataParallel that still lives: both would exchange its gradient; use that "
        "one, or destroy it first";
    EXPECT_EQ(refusal_of([&] { Wrapped second(model, world_of(comm)); }), "[ddp] p" + refused);
    EXPECT_EQ(refusal_of([&] {  // on one rank only
                Branches other;
                Wrapped second(comm.rank() == 1 ? model : other, world_of(comm));
              }),
              "[ddp] p" + refused);
    const auto sharing = std::make_shared<Sharing>(model);
    EXPECT_THAT(refusal_of([&] { DistributedDataParallel second(sharing, world_of(comm)); }),
                "[ddp] branches.p" + refused);
    first->forward(1.0, 1.0).backward();  // goes on
    first.reset();
    EXPECT_EQ(refusal_of([&] { Wrapped second(model, world_of(comm)); }), "");
  });
}

TEST(Misuse, FrozenParametersMayBePartOfTwoWrappedModels) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    for (at::Tensor& parameter : model->a->parameters()) parameter.requires_grad_(false);
    DistributedDataParallel first(model, world_of(comm));
    const auto other = std::make_shared<torch::nn::LinearImpl>(3, 1);
    other->weight = other->register_parameter("more", model->a->weight, /*requires_grad=*/false);
    DistributedDataParallel second(other, world_of(comm));
  });
}

TEST(Misuse, ACommunicationHookAfterAForwardIsRefused) {
  on_ranks(2, [](Communicator& comm) {
    Branches model;
    Wrapped ddp(model, world_of(comm));
    {
      const at::NoGradGuard no_grad;
      ddp.forward(1.0, 1.0);  // evaluation is none
    }
    ddp.register_comm_hook(mean_hook);
    Branches other;
    Wrapped late(other, world_of(comm));
    late.forward(1.0, 1.0);
    EXPECT_EQ(refusal_of([&] { late.register_comm_hook(mean_hook); }),
              "[ddp] communication hook: registered after a forward; register it on every rank before the first one");
  });
}

/// What `tensor` makes of rank 1's model, as a parameter or as a buffer.
std::vector<std::string> wrapped_with(const at::Tensor& tensor, bool as_parameter) {
  return run_ranks(2, [&](Communicator& comm) {
    Branches model;
    if (comm.rank() == 1) {
      as_parameter ? model->register_parameter("odd", tensor, tensor.requires_grad())
                   : model->register_buffer("odd", tensor);
    }
    Wrapped ddp(model, world_of(comm));
  });
}

TEST(Misuse, TensorsThatCannotBeExchangedAreRefusedByNameAtConstruction) {
  const std::vector<std::tuple<at::Tensor, bool, std::string>> cases{
      {at::ones({2}, at::kMeta), false, "odd is on meta: this build exchanges CPU tensors only"},
      {at::ones({2}, at::kMeta).requires_grad_(true), true, "odd is on meta"},
      {at::ones({2}, at::kMeta), true, "odd is on meta"},
      {at::eye(2).to_sparse(), false, "odd is no dense tensor"},
      {at::eye(2).to_sparse().requires_grad_(true), true, "odd is no dense tensor"},
      {at::ones({1}).expand({3}), false, "odd has elements that share memory (expand)"},
      {at::ones({1}).expand({3}).requires_grad_(true), true, "odd has elements that share memory (expand)"}};
  for (const auto& [tensor, as_parameter, said] : cases) {
    EXPECT_THAT(wrapped_with(tensor, as_parameter), Each(AllOf(StartsWith("[ddp] "), HasSubstr(said))));
  }
}

}  // namespace
}  // namespace samegrad::testing
