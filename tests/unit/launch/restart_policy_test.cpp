#include "samegrad/launch/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace samegrad {
namespace {

using ::testing::HasSubstr;
using Ends = std::vector<AttemptEnd>;

AttemptEnd failed(std::optional<std::int64_t> update, std::optional<std::string> progress = std::nullopt,
                  int processes = 3, int culprit_rank = 1) {
  return {.processes = processes,
          .exit_code = 137,
          .culprit_rank = culprit_rank,
          .update = update,
          .progress = std::move(progress)};
}

RestartDecision decision(const Ends& ends, int max_restarts, int min_processes = 0) {
  return decide_restart(ends, {max_restarts, min_processes});
}

TEST(RestartPolicy, NothingIsStartedAgainThatWasDoneOrStoppedOrNeverToBe) {
  EXPECT_FALSE(decision({AttemptEnd{}}, 3).restart);
  AttemptEnd stopped = failed(5);
  stopped.stopped = true;
  EXPECT_FALSE(decision({stopped}, 3).restart);
  EXPECT_FALSE(decision({failed(5)}, 0).restart);
  EXPECT_EQ(decision({failed(5)}, 0).reason, "");
}

TEST(RestartPolicy, RestartsUpToTheLimitAndSaysSo) {
  EXPECT_EQ(decision({failed(5)}, 2).reason, "starting again (restart 1 of 2)");
  EXPECT_TRUE(decision({failed(5), failed(9)}, 2).restart);
  const RestartDecision last = decision({failed(5), failed(9), failed(12)}, 2);
  EXPECT_FALSE(last.restart);
  EXPECT_EQ(last.reason, "gave up after 2 restarts");
}

TEST(RestartPolicy, AMistakeInTheInputIsNotStartedAgain) {
  AttemptEnd wrong = failed(0);
  wrong.exit_code = 2;
  wrong.is_final = true;
  EXPECT_FALSE(decision({wrong}, 3).restart);
  EXPECT_THAT(decision({wrong}, 3).reason, HasSubstr("exit code 2"));
}

TEST(RestartPolicy, WorkThatWasDoneIsNotStartedAgain) {
  AttemptEnd unprinted = failed(8, "step-0008");
  EXPECT_TRUE(decision({unprinted}, 3).restart);
  unprinted.done = true;
  EXPECT_FALSE(decision({unprinted}, 3).restart);
  EXPECT_EQ(decision({unprinted}, 3).reason, "not started again: its work was done before");
}

TEST(RestartPolicy, ALoopWithoutProgressEndsEarly) {
  const RestartDecision loop = decision({failed(5, "step-0004"), failed(5, "step-0004")}, 9);
  EXPECT_FALSE(loop.restart);
  EXPECT_EQ(
      loop.reason,
      "stopped early after 1 restart: the last attempt ended in update 5, without a checkpoint after step-0004, no "
      "further than the one before");
  EXPECT_TRUE(decision({failed(5, "step-0004"), failed(5, "step-0005")}, 9).restart);
  EXPECT_TRUE(decision({failed(5, "step-0004"), failed(6, "step-0004")}, 9).restart);
  EXPECT_FALSE(decision({failed(5), failed(5)}, 9).restart);
  EXPECT_FALSE(decision({failed(std::nullopt, ""), failed(std::nullopt, "")}, 9).restart);
}

TEST(RestartPolicy, AProgramThatKeepsItsOwnCheckpointsIsInALoopOnlyAfterAsManyCollectives) {
  AttemptEnd longer = failed(0);
  longer.collectives = 7;
  EXPECT_TRUE(decision({failed(0), longer}, 9).restart);
  EXPECT_FALSE(decision({longer, longer}, 9).restart);
  longer.update = 5;
  longer.progress = "step-0004";
  AttemptEnd resumed = longer;
  resumed.collectives = 3;
  EXPECT_FALSE(decision({longer, resumed}, 9).restart);
}

TEST(RestartPolicy, WhereNothingIsKnownOfTheProgressAllRestartsAreUsed) {
  EXPECT_TRUE(decision({failed(std::nullopt), failed(std::nullopt)}, 9).restart);
}

TEST(RestartPolicy, WhereNothingIsKnownOfTheProgressFiveQuickEndsAlikeAreALoop) {
  AttemptEnd quick = failed(std::nullopt);
  quick.lasted = std::chrono::milliseconds(40);
  EXPECT_TRUE(decision(Ends(4, quick), 99).restart);
  EXPECT_EQ(decision(Ends(5, quick), 99).reason,
            "stopped early after 4 restarts: 5 attempts in a row ended with exit code 137 within 10 s");
  Ends mixed(5, quick);
  mixed[2].lasted = std::chrono::minutes(5);
  EXPECT_TRUE(decision(mixed, 99).restart);
  mixed = Ends(5, quick);
  mixed[0].exit_code = 1;
  EXPECT_TRUE(decision(mixed, 99).restart);
}

TEST(RestartPolicy, ARankThatFailsTwiceAtTheSamePlaceCostsOneProcessDownToTheLimit) {
  const Ends twice{failed(4, "step-0002"), failed(4, "step-0002")};
  EXPECT_EQ(decision(twice, 9, 2).processes, 2);
  EXPECT_THAT(decision(twice, 9, 2).reason,
              HasSubstr("with 2 processes, because rank 1 failed twice at the same place"));
  EXPECT_FALSE(decision(twice, 9, 3).restart);
  EXPECT_FALSE(decision(twice, 9).restart);
  EXPECT_EQ(decision({failed(4), failed(5)}, 9, 1).processes, 3);  // two different places
  EXPECT_EQ(decision({failed(0), failed(0), failed(0, std::nullopt, 2)}, 9, 1).processes, 2);
}

TEST(RestartPolicy, WhereNowThisRankFailsAndNowThatFewerProcessesAreTriedToo) {
  // Memory that runs out ends any of them.
  const RestartDecision fewer = decision({failed(3, "", 3, 2), failed(3, "", 3, 1)}, 9, 1);
  EXPECT_EQ(fewer.processes, 2);
  EXPECT_THAT(fewer.reason, HasSubstr("with 2 processes, because two attempts ended at the same place"));
}

TEST(RestartPolicy, OfAnAttemptThatMadeCheckpointsIsNotSaidThatItMadeNone) {
  const Ends ends{failed(6, "step-0005"), failed(0, "step-0005")};
  EXPECT_EQ(decision(ends, 9).reason,
            "stopped early after 1 restart: the last attempt ended before its first update, without a checkpoint after "
            "step-0005, no further than the one before");
  EXPECT_THAT(decision(ends, 9, 1).reason, HasSubstr("because rank 1 failed twice, the second one earlier"));
}

TEST(RestartPolicy, AnAttemptThatEndsEarlierThanTheOneBeforeIsNoProgress) {
  EXPECT_FALSE(decision({failed(5, "step-0004"), failed(6, "step-0004"), failed(5, "step-0004")}, 9).restart);
  EXPECT_TRUE(decision({failed(6, "step-0004"), failed(5, "step-0005")}, 9).restart);
}

TEST(RestartPolicy, ARankThatAlwaysFailsCostsOneProcessAfterTheOtherDownToTheLimitWhereItEnds) {
  Ends ends;
  std::vector<int> processes;
  for (RestartDecision next{true, 4, ""}; next.restart; next = decision(ends, 50, 2)) {
    processes.push_back(next.processes);
    ends.push_back(failed(5, "step-0004", next.processes, 0));
  }
  EXPECT_EQ(processes, (std::vector{4, 4, 3, 3, 2, 2}));
}

}  // namespace
}  // namespace samegrad
