// Scopes without exchange, and what is said where they do not cover both forward and backward.
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

TEST(NoSync, AWindowOfTwoMicrobatchesIsExchangedOnce) {
  // Rank-local gradients add up to 4 and 7 over two microbatches; the mean is 5.5.
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    {
      const auto scope = ddp.no_sync();
      ddp.forward(comm.rank() == 0 ? 1.0 : 2.0, 0.0).backward();
    }
    EXPECT_FLOAT_EQ(model->p.grad().item<float>(), comm.rank() == 0 ? 1.0F : 2.0F);
    ddp.forward(comm.rank() == 0 ? 3.0 : 5.0, 0.0).backward();
    EXPECT_FLOAT_EQ(model->p.grad().item<float>(), 5.5F);
    EXPECT_EQ(comm.calls().at("gradient bucket 0/all_to_all"), 1);
    EXPECT_EQ(comm.calls().at("gradient bucket 0/all_gather"), 1);
    EXPECT_EQ(comm.calls().at("end of backward/all_gather"), 1);
  });
}

/// What a run of two ranks says on standard error, and how many exchanges it makes.
std::pair<std::string, int> said_and_exchanged(bool forward_inside, bool backward_inside) {
  int exchanges = 0;
  ::testing::internal::CaptureStderr();
  on_ranks(2, [&](Communicator& inner) {
    CountingCommunicator comm(inner);
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    for (const double factor : {1.0, 2.0}) {
      std::optional<NoSync> scope;
      if (forward_inside) scope.emplace(ddp.core());
      const at::Tensor loss = ddp.forward(factor * (1 + comm.rank()), 0.0);
      if (backward_inside && !scope) scope.emplace(ddp.core());
      if (!backward_inside) scope.reset();
      loss.backward();
    }
    if (comm.rank() == 0) exchanges = static_cast<int>(ddp.core().reducer().exchanges());
  });
  return {::testing::internal::GetCapturedStderr(), exchanges};
}

TEST(NoSync, ForwardOutsideAndBackwardInsideExchangesAndWarnsOnce) {
  const auto [said, exchanges] = said_and_exchanged(/*forward_inside=*/false, /*backward_inside=*/true);
  EXPECT_EQ(exchanges, 2);
  EXPECT_THAT(said, HasSubstr("warning: [ddp] no_sync: forward ran outside the scope"));
}

TEST(NoSync, ForwardInsideAndBackwardOutsideDoesNotExchangeAndWarns) {
  const auto [said, exchanges] = said_and_exchanged(/*forward_inside=*/true, /*backward_inside=*/false);
  EXPECT_EQ(exchanges, 0);
  EXPECT_THAT(said, HasSubstr("warning: [ddp] no_sync: forward ran inside the scope and backward outside"));
}

TEST(NoSync, AScopeThatCoversBothSaysNothing) {
  for (const bool inside : {false, true}) {
    EXPECT_THAT(said_and_exchanged(inside, inside).first, ::testing::Not(HasSubstr("warning")));
  }
}

TEST(ModelCalledPastItsWrapper, IsWarnedOf) {
  ::testing::internal::CaptureStderr();
  on_ranks(2, [&](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(model->forward(rows(comm.rank(), 0))).backward();
    loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
  });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("a backward went past the wrapper"));
}

TEST(NoSync, OnOneRankOnlyIsSaidOnAllRanksAtTheNextExchange) {
  ::testing::internal::CaptureStderr();
  on_ranks(2, [&](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    for (int step = 0; step < 2; ++step) {
      model->zero_grad();
      if (comm.rank() == 1) {
        const auto scope = ddp.no_sync();
        ddp.forward(3.0, 0.0).backward();
      }
      ddp.forward(1.0, 0.0).backward();
      EXPECT_FLOAT_EQ(model->p.grad().item<float>(), 2.5F);  // (1 + 4) / 2, as in PyTorch
    }
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string line = "rank 0 ran 1 backward passes and rank 1 ran 2; no_sync does not cover the same passes";
  const std::size_t first = said.find(line);
  ASSERT_NE(first, std::string::npos) << said;
  const std::size_t second = said.find(line, first + 1);  // the other rank, and each once
  ASSERT_NE(second, std::string::npos) << said;
  EXPECT_EQ(said.find(line, second + 1), std::string::npos) << said;
}

TEST(NoSync, OfTheLastPassOnOneRankOnlyEndsTheOthersByAnErrorThatNamesIt) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    std::optional<NoSync> scope;
    if (comm.rank() == 1) scope.emplace(ddp.core());
    ddp.forward(1.0, 0.0).backward();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 (pid "));
  EXPECT_EQ(errors[1], "");
}

}  // namespace
}  // namespace samegrad::testing
