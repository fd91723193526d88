// A communicator between real processes; built for shared memory and for Gloo (CMakeLists.txt), of which the same is
// asked. Every worker checks that it is one of as many as it was told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/multiproc/launched.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;
using testing::launched;
using testing::text_of;
using testing::worker_options;

class Processes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Processes, ::testing::Values(COMM_WORLD_SIZES));

TEST_P(Processes, AllCollectivesMoveEveryByteForEverySize) {
  const LaunchResult result = launched("collectives", GetParam());
  EXPECT_EQ(result.exit_code, 0) << text_of(result);
}

TEST_P(Processes, OnlyGlooHasAnAllReduceOfItsOwnAndItAddsOverRanks) {
  const LaunchResult result = launched("native-sum", GetParam());
  EXPECT_EQ(result.exit_code, 0) << text_of(result);
}

TEST(Processes, RandomRoundsMoveEveryByte) {
  const LaunchResult result = launched("random-rounds", 3, COMM_ROUNDS);
  EXPECT_EQ(result.exit_code, 0) << text_of(result);
}

TEST(Processes, TheCanonicalReductionHasOneDigestForEveryNumberOfProcesses) {
  std::set<std::string> digests;
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "samegrad_reduction_digest";
  for (const int world_size : {COMM_WORLD_SIZES}) {
    std::filesystem::remove(file);
    const LaunchResult result = launched("reduction", world_size, file);
    ASSERT_EQ(result.exit_code, 0) << text_of(result);
    std::string digest;
    std::ifstream(file) >> digest;
    ASSERT_EQ(digest.size(), 32U);
    digests.insert(digest);
  }
  std::filesystem::remove(file);
  EXPECT_EQ(digests.size(), 1U);
}

/// For peers that never end by themselves.
LaunchOptions with_short_grace(LaunchOptions options) {
  options.grace = std::chrono::milliseconds(300);
  options.term_grace = std::chrono::milliseconds(10);
  return options;
}

class Failure : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Failure, ::testing::Values(COMM_FAILURE_WORLD_SIZES));

// The workers' deadline is ten minutes, the test's limit two.
TEST_P(Failure, AKilledPeerEndsTheOthersLongBeforeTheDeadlineWithRankAndUpdate) {
  const LaunchResult result = launched("killed", GetParam());
  EXPECT_EQ(result.exit_code, 137);
  ASSERT_EQ(result.lines.size(), 2U) << text_of(result);
  EXPECT_THAT(result.lines[0], ::testing::MatchesRegex(
                                   R"(\[launch\] rank 1 \(pid [0-9]+, signal 9 SIGKILL\) failed first: .*memory.*)"));
  EXPECT_THAT(
      result.lines[1],
      ::testing::MatchesRegex(
          R"(\[launch\] in consequence ranks? 0.*: \[comm\] rank 1 \(pid [0-9]+\) ended without leaving the run before 'gradient' of update 7: .*'agreement' of update 7.*)"));
  EXPECT_THAT(result.lines[1], ::testing::Not(HasSubstr("ended by the launcher")));
}

TEST_P(Failure, AStoppedPeerEndsTheOthersAfterTheDeadlineWithRankAndUpdate) {
  const LaunchResult result = launch_workers(with_short_grace(worker_options("stopped", GetParam())));
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_FALSE(result.lines.empty());
  EXPECT_THAT(result.lines[0], HasSubstr(" gave up: [comm] rank 1 (pid "));
  EXPECT_THAT(result.lines[0], HasSubstr("did not come to 'gradient' of update 7 within 0.5 s: it is stopped"));
}

TEST_P(Failure, ALatePeerEndsTheOthersAfterTheDeadlineWithoutBeingCalledStopped) {
  const LaunchResult result = launch_workers(with_short_grace(worker_options("late", GetParam())));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.lines[0], HasSubstr("rank 1 (pid "));
  EXPECT_THAT(result.lines[0], HasSubstr("within 0.5 s: it was last in 'agreement' of update 7"));
}

TEST_P(Failure, APeerThatThrowsEndsTheOthersWithItsReason) {
  const LaunchResult result = launched("throws", GetParam());
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(result.lines.size(), 2U) << text_of(result);
  EXPECT_THAT(result.lines[0],
              ::testing::MatchesRegex(
                  R"(\[launch\] rank 1 \(pid [0-9]+, exit code 1\) failed first: \[train\] loss is not finite)"));
  EXPECT_THAT(result.lines[1], HasSubstr("failed before 'gradient' of update 7: [train] loss is not finite"));
}

TEST_P(Failure, ARankThatCallsAfterLeavingHasAnErrorWithItsReason) {
  const LaunchResult result = launched("calls-after-leaving", GetParam());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of(result), HasSubstr("[comm] rank 1 has left the run and can exchange nothing any more: [train] "
                                         "loss is not finite"));
}

TEST_P(Failure, APeerThatExitsIsNamedWithItsCode) {
  const LaunchResult result = launched("exits", GetParam(), "3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(text_of(result), HasSubstr("exit code 3) failed first: it left no message"));
}

// Its peers cannot know how it ended; the launcher does.
TEST_P(Failure, APeerThatEndsInTheMiddleWithCode0IsNotSaidToHaveDied) {
  const LaunchResult result = launched("exits", GetParam(), "0");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      text_of(result),
      ::testing::AllOf(HasSubstr(", exit code 0)"), HasSubstr(" ended without leaving the run before "),
                       HasSubstr("its exit code or signal is not known here"), ::testing::Not(HasSubstr("died"))));
}

TEST_P(Failure, APeerThatLeavesInGoodOrderTooEarlyIsNamed) {
  const LaunchResult result = launched("leaves-in-order", GetParam());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(text_of(result),
              HasSubstr("left before 'agreement' of update 3: it was last in 'agreement' of update 2"));
}

TEST_P(Failure, MismatchedCallsEndAllRanksWithOneLineThatNamesBoth) {
  const LaunchResult result = launched("mismatched", GetParam());
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(result.lines.size(), 1U) << text_of(result);
  // Of the ranks that call the same, whichever meets the other first is named.
  EXPECT_THAT(result.lines[0], ::testing::StartsWith("[comm] ranks do not call the same: rank "));
  EXPECT_THAT(result.lines[0], HasSubstr("calls all_gather 'agreement' of update 7 (128 bytes"));
  EXPECT_THAT(result.lines[0], HasSubstr("calls barrier 'end' of update 7 (0 bytes"));
}

TEST_P(Failure, SizesThatDifferEndAllRanksWithOneLineThatNamesBoth) {
  const LaunchResult result = launched("different-sizes", GetParam());
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(result.lines.size(), 1U) << text_of(result);
  EXPECT_THAT(result.lines[0], HasSubstr("all_gather 'agreement' of update 7 (128 bytes"));
  EXPECT_THAT(result.lines[0], HasSubstr("all_gather 'agreement' of update 7 (64 bytes"));
}

TEST_P(Failure, AnAgreedFailureIsShownOnceWithItsOwnCodeAndTheRankThatBroughtIt) {
  const LaunchResult result = launched("fails-agreed", GetParam());
  EXPECT_EQ(result.exit_code, 2);
  ASSERT_EQ(result.lines.size(), 2U) << text_of(result);
  EXPECT_EQ(result.lines[0], "[data] train.jsonl:7: not JSON");
  EXPECT_THAT(result.lines[1], ::testing::StartsWith("[launch] rank 1 (pid "));
}

}  // namespace
}  // namespace samegrad
