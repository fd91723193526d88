#include "samegrad/launch/launch_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace samegrad {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WorkerOutcome ended(int rank, int exit_code) { return {rank, 100 + rank, {exit_code, 0}, false, std::nullopt}; }

WorkerOutcome by_signal(int rank, int signal) { return {rank, 100 + rank, {0, signal}, false, std::nullopt}; }

WorkerOutcome reported(int rank, int exit_code, const std::string& message, int culprit_rank = -1) {
  WorkerOutcome outcome = ended(rank, exit_code);
  outcome.report = FailureReport{rank, exit_code, message, culprit_rank};
  return outcome;
}

WorkerOutcome made_to_end(WorkerOutcome outcome) {
  outcome.ended_by_launcher = true;
  return outcome;
}

LaunchResult summary(const std::vector<WorkerOutcome>& outcomes, int passed_signal = 0) {
  return summarize_launch(outcomes, passed_signal);
}

TEST(LaunchSummary, SaysNothingWhereAllWentWell) {
  const LaunchResult result = summary({ended(1, 0), ended(0, 0)});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.lines, IsEmpty());
}

TEST(LaunchSummary, SaysNothingWhereAllStoppedAsAsked) {
  EXPECT_EQ(summary({ended(0, 143), ended(1, 143)}, SIGTERM).exit_code, 143);
  EXPECT_EQ(summary({ended(0, 130), ended(1, 130)}, SIGINT).exit_code, 130);
  EXPECT_EQ(summary({by_signal(0, SIGTERM), ended(1, 143)}, SIGTERM).exit_code, 143);
  EXPECT_EQ(summary({ended(0, 143), ended(1, 143)}).exit_code, 143);  // the workers were asked, not the launcher
  EXPECT_THAT(summary({by_signal(0, SIGTERM), ended(1, 143)}, SIGTERM).lines, IsEmpty());
}

TEST(LaunchSummary, ASignalThatNobodyAskedForIsAFailure) {
  const LaunchResult result = summary({by_signal(0, SIGTERM)});
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.lines, ElementsAre("[launch] rank 0 (pid 100, signal 15 SIGTERM) failed first: Terminated"));
}

TEST(LaunchSummary, TheCulpritIsTheOneThatIsNoConsequenceAlsoWhereItEndsLater) {
  const LaunchResult result = summary({reported(2, 1, "[comm] rank 1 failed", 1), reported(1, 3, "[train] boom"),
                                       reported(0, 1, "[comm] rank 1 f", 1)});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.lines, ElementsAre("[launch] rank 1 (pid 101, exit code 3) failed first: [train] boom",
                                        "[launch] in consequence ranks 0, 2: [comm] rank 1 failed"));
}

TEST(LaunchSummary, AKilledWorkerIsTheCulpritWithAHintAtMemory) {
  const LaunchResult result = summary({reported(0, 1, "[comm] rank 1 died", 1), by_signal(1, SIGKILL)});
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_THAT(result.lines[0], HasSubstr("rank 1 (pid 101, signal 9 SIGKILL) failed first: killed from outside"));
  EXPECT_THAT(result.lines[0], HasSubstr("memory"));
  EXPECT_EQ(result.lines[1], "[launch] in consequence rank 0: [comm] rank 1 died");
}

TEST(LaunchSummary, AWorkerThatTheLauncherKilledIsNeverTheCulprit) {
  const LaunchResult result =
      summary({reported(0, 1, "[comm] rank 1 did not come", 1), made_to_end(by_signal(1, SIGKILL))});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.lines, ElementsAre("[launch] rank 0 (pid 100, exit code 1) gave up: [comm] rank 1 did not come",
                                        "[launch] in consequence rank 1: ended by the launcher"));
}

TEST(LaunchSummary, OneLineOfAllIsShownAloneAndAsItIs) {
  const LaunchResult result = summary({reported(0, 2, "[data] bad"), reported(1, 2, "[data] bad")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.lines, ElementsAre("[data] bad"));
  EXPECT_THAT(summary({reported(0, 2, "[data] bad")}).lines, ElementsAre("[data] bad"));
}

TEST(LaunchSummary, DifferentLinesAreNotTakenForOne) {
  EXPECT_EQ(summary({reported(0, 2, "[data] bad"), reported(1, 2, "[data] worse")}).lines.size(), 2U);
  EXPECT_EQ(summary({reported(0, 2, "[data] bad"), ended(1, 2)}).lines.size(), 2U);
  EXPECT_EQ(summary({reported(0, 2, "[data] bad"), ended(1, 0)}).lines.size(), 1U);
}

TEST(LaunchSummary, AFailureAfterAWishToStopIsStillAFailure) {
  EXPECT_EQ(summary({reported(0, 1, "[checkpoint] disk full"), ended(1, 143)}, SIGTERM).exit_code, 1);
}

TEST(LaunchSummary, WorkersKilledByASecondSignalStoppedByTheFirst) {
  const LaunchResult result = summary({made_to_end(by_signal(0, SIGKILL)), made_to_end(by_signal(1, SIGKILL))}, SIGINT);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.lines, IsEmpty());
}

}  // namespace
}  // namespace samegrad
