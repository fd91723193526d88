#include "samegrad/launch/culprit.h"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "tests/unit/launch/outcomes.h"

namespace samegrad {
namespace {

using testing::by_signal;
using testing::ended;
using testing::made_to_end;
using testing::reported;

using Outcomes = std::vector<WorkerOutcome>;

/// Its rank; -1: none.
int culprit_of(const Outcomes& outcomes, int passed_signal = 0) {
  const auto culprit = find_culprit(outcomes, passed_signal);
  return culprit ? culprit->outcome->rank : -1;
}

TEST(Culprit, IsNobodyWhereAllAreDone) {
  EXPECT_EQ(culprit_of({ended(0, 0), ended(1, 0)}), -1);
  EXPECT_EQ(culprit_of({ended(0, 143), by_signal(1, SIGTERM)}, SIGTERM), -1);
}

TEST(Culprit, WithoutReportsTheFirstThatEnded) {
  EXPECT_EQ(culprit_of({ended(2, 1), ended(0, 1), ended(1, 1)}), 2);
  EXPECT_EQ(culprit_of({ended(2, 0), ended(0, 1), ended(1, 1)}), 0);
}

TEST(Culprit, IsWhereTheChainOfBlameEnds) {
  EXPECT_EQ(culprit_of({reported(0, 1, "1", 1), reported(1, 1, "2", 2), reported(2, 1, "3", 3), ended(3, 5)}), 3);
}

TEST(Culprit, WhoIsBlamedByAReportCountsMoreThanWhoEndedFirst) {
  // Rank 2 printed its own error and went because it missed rank 1, before it was known that rank 1 had died.
  EXPECT_EQ(culprit_of({ended(2, 1), reported(0, 1, "1", 1), by_signal(1, SIGKILL)}), 1);
}

TEST(Culprit, WhoIsBlamedByMostCountsMoreThanWhoIsBlamedByOne) {
  EXPECT_EQ(culprit_of({reported(0, 1, "", 3), ended(3, 1), reported(1, 1, "", 4), reported(2, 1, "", 4), ended(4, 1)}),
            4);
}

TEST(Culprit, ARankKilledByASignalIsItAlsoWhereItIsReapedLast) {
  EXPECT_EQ(culprit_of({reported(2, 1, "", 1), reported(0, 1, "", 1), by_signal(1, SIGSEGV)}), 1);
}

TEST(Culprit, OfACircleOfBlameItIsTheOneThatEndedFirst) {
  EXPECT_EQ(culprit_of({reported(1, 1, "", 0), reported(0, 1, "", 1)}), 1);
  EXPECT_EQ(culprit_of({reported(2, 1, "", 0), reported(1, 1, "", 0), reported(0, 1, "", 1)}), 1);
}

TEST(Culprit, ARankThatIsNotThereIsNot) {
  EXPECT_EQ(culprit_of({reported(0, 1, "", 7)}), 0);
  EXPECT_EQ(culprit_of({reported(0, 1, "", 0)}), 0);
}

TEST(Culprit, KindsAreToldApart) {
  const auto kind_of = [](const Outcomes& outcomes) { return find_culprit(outcomes, 0)->kind; };
  EXPECT_EQ(kind_of({reported(0, 1, "", 1), ended(1, 1)}), CulpritKind::kFailed);
  EXPECT_EQ(kind_of({reported(0, 1, "", 1), made_to_end(by_signal(1, SIGKILL))}), CulpritKind::kSilent);
  EXPECT_EQ(kind_of({ended(1, 0), reported(0, 1, "", 1)}), CulpritKind::kLeft);
}

TEST(Culprit, WhoTheLauncherEndedAccusesNobody) {
  EXPECT_EQ(culprit_of({ended(1, 3), made_to_end(reported(0, 1, "", 2)), made_to_end(ended(2, 1))}), 1);
}

}  // namespace
}  // namespace samegrad
