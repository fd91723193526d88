#include "samegrad/launch/launch_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/unit/launch/outcomes.h"

namespace samegrad {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using testing::by_signal;
using testing::ended;
using testing::made_to_end;
using testing::reported;

LaunchResult summary(const std::vector<WorkerOutcome>& outcomes, int passed_signal = 0) {
  return summarize_launch(outcomes, {.passed_signal = passed_signal, .workers_report = true, .host = "node7"});
}

TEST(LaunchSummary, SaysNothingWhereAllWentWell) {
  const LaunchResult result = summary({ended(1, 0), ended(0, 0)});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.lines, IsEmpty());
}

TEST(LaunchSummary, SaysNothingWhereAllStoppedAsAsked) {
  EXPECT_EQ(summary({ended(0, 143), ended(1, 143)}, SIGTERM).exit_code, 143);
  EXPECT_EQ(summary({ended(0, 130), ended(1, 130)}, SIGINT).exit_code, 130);
  EXPECT_EQ(summary({ended(0, 129), ended(1, 129)}).exit_code, 129);
  EXPECT_EQ(summary({by_signal(0, SIGTERM), ended(1, 143)}, SIGTERM).exit_code, 143);
  EXPECT_EQ(summary({ended(0, 143), ended(1, 143)}).exit_code, 143);  // the workers were asked, not the launcher
  EXPECT_THAT(summary({by_signal(0, SIGTERM), ended(1, 143)}, SIGTERM).lines, IsEmpty());
}

TEST(LaunchSummary, RanksThatAllEndWithAFailedCheckHaveSaidItThemselves) {
  const std::vector<WorkerOutcome> checked{ended(1, 3), ended(0, 3)};
  EXPECT_EQ(summary(checked).exit_code, 3);
  EXPECT_THAT(summary(checked).lines, IsEmpty());
  EXPECT_TRUE(summary(checked).failure.is_null());
  EXPECT_THAT(summarize_launch(checked, {.workers_report = false}).lines, Not(IsEmpty()));
  EXPECT_THAT(summary({ended(1, 3), ended(0, 0)}).lines, Not(IsEmpty()));
  EXPECT_THAT(summary({ended(1, 3), reported(0, 3, "[checkpoint] damaged")}).lines, Not(IsEmpty()));
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

TEST(LaunchSummary, AWorkerThatOthersGaveUpWaitingForIsTheCulpritWithTheirExitCode) {
  const LaunchResult result =
      summary({reported(0, 1, "[comm] rank 1 did not come", 1), made_to_end(by_signal(1, SIGKILL))});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.culprit_rank, 1);
  EXPECT_THAT(result.lines, ElementsAre("[launch] rank 1 (pid 101, ended by the launcher) was waited for until rank 0 "
                                        "gave up: [comm] rank 1 did not come"));
}

TEST(LaunchSummary, AWorkerThatWasDoneBeforeTheOthersIsNamedWithWhatTheyMissed) {
  const LaunchResult result = summary({ended(1, 0), reported(0, 1, "[comm] rank 1 left", 1), reported(2, 1, "too", 1)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.lines,
              ElementsAre("[launch] rank 1 (pid 101, exit code 0) ended before the others were done, and was "
                          "waited for until rank 0 gave up: [comm] rank 1 left",
                          "[launch] in consequence rank 2: too"));
}

TEST(LaunchSummary, AWorkerThatNeverJoinedIsNamedWhereTheLauncherHadToEndTheOthers) {
  WorkerOutcome early = ended(1, 0);
  early.kept_others_waiting = true;
  const LaunchResult result = summary({early, made_to_end(by_signal(0, SIGTERM))});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.lines, ElementsAre("[launch] rank 1 (pid 101, exit code 0) ended before it joined the others "
                                        "(samegrad::init()), which were ended by the launcher",
                                        "[launch] in consequence rank 0: ended by the launcher"));
}

TEST(LaunchSummary, AProgramThatPrintsItsOwnErrorIsNotSaidToBeSilent) {
  const auto line_of = [](const std::optional<std::string>& last_line, const std::string& log, bool workers_report) {
    WorkerOutcome outcome = ended(0, 7);
    outcome.last_line = last_line;
    outcome.error_log = log;
    return summarize_launch(std::vector{outcome}, {.workers_report = workers_report}).lines.at(0);
  };
  EXPECT_THAT(line_of("ValueError: boom", "", false),
              HasSubstr("failed first: its own lines are above, the last one: ValueError: boom"));
  EXPECT_THAT(line_of("", "", false), HasSubstr("failed first: it left no message"));
  EXPECT_THAT(line_of(std::nullopt, "", false), HasSubstr("failed first: its own lines, if it left any, are above"));
  EXPECT_THAT(line_of(std::nullopt, "logs/stderr.log", false), HasSubstr("its own lines are in logs/stderr.log"));
  EXPECT_THAT(line_of(std::nullopt, "", true), HasSubstr("failed first: it left no message"));
}

TEST(LaunchSummary, TheLastLineOfAProgramThatAbortsIsQuoted) {
  WorkerOutcome aborted = by_signal(0, SIGABRT);
  aborted.last_line = "what(): boom";
  EXPECT_THAT(summary({aborted}).lines.at(0),
              HasSubstr("failed first: Aborted; its own lines are above, the last one: what(): boom"));
}

TEST(LaunchSummary, AShellsCode137HasTheHintAtMemoryToo) {
  EXPECT_THAT(summary({ended(0, 137)}).lines.at(0),
              AllOf(HasSubstr("exit code 137"), HasSubstr("signal 9"), HasSubstr("memory")));
  EXPECT_THAT(summary({ended(0, 136)}).lines.at(0), Not(HasSubstr("memory")));
}

TEST(LaunchSummary, WhatTheControlGroupCountedIsSaid) {
  WorkerOutcome killed = by_signal(0, SIGKILL);
  killed.memory_kills = 1;
  EXPECT_THAT(summary({killed}).lines.at(0),
              HasSubstr("killed by the system, because the memory of its control group ran out (oom_kill in "
                        "memory.events counted once)"));
}

TEST(LaunchSummary, ThePlaceOfTheCulpritIsALineOfItsOwn) {
  WorkerOutcome killed = by_signal(1, SIGKILL);
  killed.place = RankPlace{7, "exchange", "all_to_all 'gradient' of update 7", true, 42};
  const LaunchResult result = summary({killed, reported(0, 1, "[comm] rank 1 died", 1)});
  EXPECT_EQ(result.lines.at(2),
            "[launch] rank 1 was last seen on node7 in update 7, phase exchange, in all_to_all "
            "'gradient' of update 7 (its collective 42)");
  EXPECT_EQ(result.failure["culprit"]["place"]["update"], 7);
}

TEST(LaunchSummary, TheSameAsJson) {
  const LaunchResult result = summary({reported(0, 1, "[comm] rank 1 died", 1), by_signal(1, SIGSEGV)});
  EXPECT_EQ(result.failure["exit_code"], 139);
  EXPECT_EQ(result.failure["kind"], "failed");
  const Json& culprit = result.failure["culprit"];
  EXPECT_EQ(culprit["rank"], 1);
  EXPECT_EQ(culprit["host"], "node7");
  EXPECT_EQ(culprit["pid"], 101);
  EXPECT_TRUE(culprit["exit_code"].is_null());
  EXPECT_EQ(culprit["signal"], SIGSEGV);
  ASSERT_EQ(result.failure["consequences"].size(), 1U);
  EXPECT_EQ(result.failure["consequences"][0]["message"], "[comm] rank 1 died");
  EXPECT_EQ(result.failure["lines"], Json(result.lines));
  EXPECT_TRUE(summary({ended(0, 0)}).failure.is_null());
}

TEST(LaunchSummary, WhoMissedARankThatStoppedAsAskedStoppedToo) {
  const LaunchResult result = summary({by_signal(1, SIGTERM), reported(0, 1, "[comm] rank 1 failed", 1)}, SIGTERM);
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.lines, IsEmpty());
}

TEST(LaunchSummary, OneLineOfAllIsShownAloneAndAsItIs) {
  const LaunchResult result = summary({reported(0, 2, "[data] bad"), reported(1, 2, "[data] bad")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.lines, ElementsAre("[data] bad"));
  EXPECT_THAT(summary({reported(0, 2, "[data] bad")}).lines, ElementsAre("[data] bad"));
}

TEST(LaunchSummary, OneLineOfAllNamesTheRankThatBroughtItAlsoWhereItEndsLater) {
  WorkerOutcome first = reported(1, 1, "[train] boom");
  first.place = RankPlace{7, "backward", "", false, 0};
  const LaunchResult result = summary({reported(0, 1, "[train] boom", 1), first, reported(2, 1, "[train] boom", 1)});
  EXPECT_THAT(result.lines, ElementsAre("[train] boom",
                                        "[launch] rank 1 (pid 101, exit code 1) failed first; in consequence ranks 0, "
                                        "2: the same line",
                                        "[launch] rank 1 was last seen on node7 in update 7, phase backward"));
  EXPECT_EQ(result.culprit_rank, 1);
  EXPECT_EQ(result.failure["culprit"]["rank"], 1);
}

TEST(LaunchSummary, AMistakeInTheInputThatOneRankFoundIsOneLine) {
  const LaunchResult result = summary({reported(1, 2, "[data] bad", 0), reported(0, 2, "[data] bad")});
  EXPECT_THAT(result.lines, ElementsAre("[data] bad"));
  EXPECT_EQ(result.failure["culprit"]["rank"], 0);
}

TEST(LaunchSummary, AMistakeInTheInputOfALaterRankAloneNamesIt) {
  const LaunchResult result =
      summary({reported(0, 2, "[data] bad", 1), reported(2, 2, "[data] bad", 1), reported(1, 2, "[data] bad")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.lines, ElementsAre("[data] bad",
                                        "[launch] rank 1 (pid 101, exit code 2) failed first; in consequence ranks 0, "
                                        "2: the same line"));
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
