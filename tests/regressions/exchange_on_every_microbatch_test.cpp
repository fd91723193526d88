// FunASR#3472, accelerate#1726, PiPPy#1133, speechbrain#1802: accumulation exchanged the wrong microbatch, or each one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

struct Accumulated {
  float gradient = 0;
  std::int64_t exchanges = 0;
  std::string said;
};

/// Two microbatches, 4.0 in all on rank 0 and 7.0 on rank 1; rank 0's view.
Accumulated accumulate(bool scope_covers_forward) {
  Accumulated result;
  ::testing::internal::CaptureStderr();
  on_ranks(2, [&](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    std::optional<NoSync> scope;
    if (scope_covers_forward) scope.emplace(ddp.core());
    const at::Tensor first = ddp.forward(comm.rank() == 0 ? 1.0 : 2.0, 0.0);
    if (!scope) scope.emplace(ddp.core());
    first.backward();
    scope.reset();
    ddp.forward(comm.rank() == 0 ? 3.0 : 5.0, 0.0).backward();
    if (comm.rank() == 0) result = {model->p.grad().item<float>(), ddp.core().reducer().exchanges(), ""};
  });
  result.said = ::testing::internal::GetCapturedStderr();
  return result;
}

TEST(ExchangeOnEveryMicrobatch, TheWindowIsExchangedOnceAndRightly) {
  const Accumulated right = accumulate(/*scope_covers_forward=*/true);
  EXPECT_EQ(right.gradient, 5.5F);
  EXPECT_EQ(right.exchanges, 1);
}

TEST(ExchangeOnEveryMicrobatch, AScopeAroundBackwardAloneHasTheSameNumbersTwiceTheTrafficAndAWarningThatSaysWhy) {
  const Accumulated misuse = accumulate(/*scope_covers_forward=*/false);
  EXPECT_EQ(misuse.gradient, 5.5F);
  EXPECT_EQ(misuse.exchanges, 2);
  EXPECT_THAT(misuse.said, ::testing::HasSubstr("forward ran outside the scope"));
}

}  // namespace
}  // namespace samegrad::testing
