#include "samegrad/comm/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "samegrad/base/error.h"
#include "samegrad/base/failing_rank.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::nothing_thrown;
using testing::run_ranks;
using ::testing::StrEq;

AgreementRecord record(std::int64_t units) {
  AgreementRecord made;
  made.update = 7;
  made.digest.fill('a');
  made.atoms = 4;
  made.supervised_units = units;
  made.has_data = units > 0 ? 1 : 0;
  return made;
}

AgreementRecord failed_record(std::string_view message) {
  AgreementRecord made = record(0);
  made.failed = 1;
  std::ranges::copy(message, made.message.begin());
  return made;
}

WindowDecision decide(std::vector<AgreementRecord> records, EmptyWindowPolicy policy = EmptyWindowPolicy::kError) {
  for (AgreementRecord& each : records) each.empty_window = policy;
  return decide_window(records);
}

/// Of a rank with `count` units of a term "lm", and 2 of another.
AgreementRecord record_of_terms(std::int64_t count, EmptyTermPolicy empty = EmptyTermPolicy::kError) {
  AgreementRecord made = record(0);
  std::ranges::copy(std::string_view("lm"), made.terms[0].name.begin());
  std::ranges::copy(std::string_view("aux"), made.terms[1].name.begin());
  made.terms[0].count = count;
  made.terms[1].count = 2;
  made.terms[0].empty = empty;
  made.terms[0].divisor = TermDivisor::kUnits;
  made.terms[1].divisor = TermDivisor::kWeight;
  return made;
}

TEST(DecideWindow, TrainsOnTheSumOfAllCountsAlsoWhereARankHasNone) {
  const WindowDecision decision = decide({record(12), record(0), record(36)});
  EXPECT_EQ(decision.action, WindowAction::kTrain);
  EXPECT_EQ(decision.global_units, 48);
  EXPECT_EQ(decision.message, "");
}

TEST(DecideWindow, CountsBeyondWhatADoubleHoldsExactly) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(decide({record(large), record(2)}).global_units, large + 2);
}

TEST(DecideWindow, RefusesAWindowWithoutUnitsUnderError) {
  const WindowDecision decision = decide({record(0), record(0)});
  EXPECT_EQ(decision.action, WindowAction::kRefuse);
  EXPECT_TRUE(decision.refused_for_zero_units);
  EXPECT_THAT(decision.message, HasSubstr("window of update 7: 0 supervised tokens in all ranks"));
}

TEST(DecideWindow, SkipsAWindowWithoutUnitsUnderSkip) {
  const WindowDecision decision = decide({record(0), record(0)}, EmptyWindowPolicy::kSkip);
  EXPECT_EQ(decision.action, WindowAction::kSkip);
  EXPECT_EQ(decision.global_units, 0);
  EXPECT_FALSE(decision.refused_for_zero_units);
}

TEST(DecideWindow, StopsWhereAnyRankAsksEvenWithoutUnits) {
  std::vector<AgreementRecord> records{record(0), record(0), record(0)};
  records[2].stop_asked = 1;
  EXPECT_EQ(decide(records).action, WindowAction::kStop);
}

TEST(DecideWindow, TellsAllThatAnyRankAsksToSaveWhateverTheWindowDoes) {
  std::vector<AgreementRecord> records{record(5), record(0), record(7)};
  EXPECT_FALSE(decide(records).save_asked);
  records[1].save_asked = 1;
  EXPECT_TRUE(decide(records).save_asked);
  EXPECT_EQ(decide(records).action, WindowAction::kTrain);
  records[2].stop_asked = 1;
  EXPECT_TRUE(decide(records).save_asked);
  EXPECT_EQ(decide(records).action, WindowAction::kStop);
}

TEST(DecideWindow, AFailureOutranksAWishToStop) {
  std::vector<AgreementRecord> records{record(5), failed_record("[data] b.jsonl:2: not JSON")};
  records[0].stop_asked = 1;
  const WindowDecision decision = decide(records);
  EXPECT_EQ(decision.action, WindowAction::kRefuse);
  EXPECT_EQ(decision.message, "[data] b.jsonl:2: not JSON");
  EXPECT_FALSE(decision.refused_for_zero_units);
}

TEST(DecideWindow, ReportsTheLowestOfSeveralFailedRanks) {
  EXPECT_EQ(decide({record(5), failed_record("[data] one"), failed_record("[data] two")}).message, "[data] one");
  EXPECT_EQ(decide({record(5), failed_record("")}).message, "[agreement] rank 1 failed without a message");
}

TEST(DecideWindow, AFailureOfOneRankIsThrownAsThatRanks) {
  const WindowDecision decision = decide({record(5), failed_record("[data] one"), record(5)});
  EXPECT_EQ(decision.failing_rank, 1);
  try {
    throw_refusal(decision);
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "[data] one");
    const auto* const of_rank = dynamic_cast<const FailingRank*>(&error);
    ASSERT_NE(of_rank, nullptr);
    EXPECT_EQ(of_rank->failing_rank(), 1);
  }
  std::vector<AgreementRecord> update{record(5), record(5)};
  update[1].update = 8;
  EXPECT_EQ(decide(update).failing_rank, -1);
}

TEST(DecideWindow, TakesAMessageThatFillsItsField) {
  AgreementRecord full = record(0);
  full.failed = 1;
  full.message.fill('x');
  EXPECT_EQ(decide({full}).message, std::string(full.message.size(), 'x'));
}

TEST(DecideWindow, RefusesRanksThatDifferNamingBothValues) {
  std::vector<AgreementRecord> update{record(5), record(5), record(5)};
  update[2].update = 8;
  EXPECT_THAT(decide(update).message, HasSubstr("ranks differ in the update: rank 0 has 7, rank 2 has 8"));
  std::vector<AgreementRecord> digest{record(5), record(5)};
  digest[1].digest.fill('b');
  EXPECT_THAT(decide(digest).message,
              HasSubstr("rank 0 has " + std::string(64, 'a') + ", rank 1 has " + std::string(64, 'b')));
  std::vector<AgreementRecord> parameters{record(5), record(5)};
  parameters[1].parameters.fill('c');
  EXPECT_THAT(decide(parameters).message, HasSubstr("rank 1 has " + std::string(32, 'c')));
  for (const auto& records : {update, digest, parameters}) {
    EXPECT_EQ(decide(records, EmptyWindowPolicy::kSkip).action, WindowAction::kRefuse);
  }
}

TEST(DecideWindow, GivesRanksConsecutiveAtomsHoweverManyEachBrought) {
  std::vector<AgreementRecord> records{record(5), record(0), record(3)};
  records[0].atoms = 3;
  records[1].atoms = 0;
  records[2].atoms = 1;
  EXPECT_EQ(decide(records).ranges, (std::vector<AtomRange>{{0, 3}, {3, 3}, {3, 4}}));
}

TEST(DecideWindow, RefusesUnitsInNoAtoms) {
  std::vector<AgreementRecord> records{record(5), record(0)};
  for (AgreementRecord& each : records) each.atoms = 0;
  EXPECT_THAT(decide(records).message, HasSubstr("supervised units in 0 atoms of all ranks"));
}

TEST(DecideWindow, DifferingRanksOutrankAWishToStop) {
  std::vector<AgreementRecord> records{record(5), record(5)};
  records[1].update = 8;
  records[1].stop_asked = 1;
  EXPECT_EQ(decide(records).action, WindowAction::kRefuse);
}

TEST(DecideWindow, RefusesCountsThatAreNegativeOrOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(decide({record(kMost), record(1)}).action, WindowAction::kRefuse);
  EXPECT_EQ(decide({record(10), record(-1)}).action, WindowAction::kRefuse);
  EXPECT_EQ(decide({record(kMost), record(0)}).global_units, kMost);
  EXPECT_FALSE(decide({record(-1), record(1)}).refused_for_zero_units);
  std::vector<AgreementRecord> atoms{record(1), record(1)};
  atoms[0].atoms = kMost;
  EXPECT_THAT(decide(atoms).message, HasSubstr("the number of atoms is negative or above 2^63 - 1"));
}

TEST(DecideWindow, RefusesRanksThatDifferInThePolicyForAnEmptyWindow) {
  std::vector<AgreementRecord> records{record(5), record(5)};
  records[1].empty_window = EmptyWindowPolicy::kSkip;
  EXPECT_THAT(decide_window(records).message,
              HasSubstr("ranks differ in the policy for an empty window: rank 0 has error, rank 1 has skip"));
}

TEST(DecideTerms, AddsTheCountsOfEachTerm) {
  const WindowDecision decision = decide({record_of_terms(12), record_of_terms(0), record_of_terms(36)});
  EXPECT_EQ(decision.action, WindowAction::kTrain);
  EXPECT_EQ(decision.term_counts, (std::vector<std::int64_t>{48, 6}));
}

TEST(DecideTerms, RefusesCountsThatOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(decide({record_of_terms(most), record_of_terms(1)}).message, HasSubstr("units of a loss term"));
  EXPECT_THAT(decide({record_of_terms(-1), record_of_terms(1)}).message, HasSubstr("units of a loss term"));
}

TEST(DecideTerms, TakesTheTermsPolicyWhereOneIsEmptyInAllRanks) {
  const auto decided = [](EmptyTermPolicy policy) {
    return decide({record_of_terms(0, policy), record_of_terms(0, policy)});
  };
  EXPECT_EQ(decided(EmptyTermPolicy::kDrop).action, WindowAction::kTrain);
  EXPECT_EQ(decided(EmptyTermPolicy::kSkipWindow).action, WindowAction::kSkip);
  const WindowDecision refused = decided(EmptyTermPolicy::kError);
  EXPECT_EQ(refused.action, WindowAction::kRefuse);
  EXPECT_THAT(refused.message, HasSubstr("window of update 7: 0 units of the loss term lm in all ranks"));
}

TEST(DecideTerms, TakesTheWindowsPolicyWhereAllAreEmpty) {
  AgreementRecord empty = record_of_terms(0, EmptyTermPolicy::kDrop);
  empty.terms[1].count = 0;
  EXPECT_TRUE(decide({empty, empty}).refused_for_zero_units);
  EXPECT_EQ(decide({empty, empty}, EmptyWindowPolicy::kSkip).action, WindowAction::kSkip);
  empty.terms[1].divisor = TermDivisor::kNothing;
  EXPECT_TRUE(decide({empty, empty}).refused_for_zero_units) << "a regularizer is nothing to train on";
  empty.terms[1].divisor = TermDivisor::kConstant;
  EXPECT_EQ(decide({empty, empty}).action, WindowAction::kTrain) << "a constant is never empty";
  empty.atoms = 0;
  EXPECT_TRUE(decide({empty, empty}).refused_for_zero_units) << "but without atoms";
}

TEST(ExchangeRecords, GivesEveryRankTheRecordsAndSoTheDecisionOfAll) {
  for (const int world_size : {1, 2, 5}) {
    std::vector<WindowDecision> decisions(static_cast<std::size_t>(world_size));
    const auto errors = run_ranks(world_size, [&](Communicator& comm) {
      const auto records = exchange_records(comm, record(10 + comm.rank()), std::chrono::minutes(1));
      for (int rank = 0; rank < world_size; ++rank) {
        EXPECT_EQ(records[static_cast<std::size_t>(rank)].supervised_units, 10 + rank);
      }
      decisions[static_cast<std::size_t>(comm.rank())] = decide_window(records);
    });
    EXPECT_EQ(errors, nothing_thrown(world_size));
    for (const WindowDecision& decision : decisions) {
      EXPECT_EQ(decision.global_units, 10 * world_size + world_size * (world_size - 1) / 2);
    }
  }
}

std::vector<std::string> agree(const std::vector<std::string>& failures, int exit_code) {
  return run_ranks(static_cast<int>(failures.size()), [&](Communicator& comm) {
    agree_no_failure(comm, failures[static_cast<std::size_t>(comm.rank())], exit_code, {"window", 1});
  });
}

TEST(AgreeNoFailure, ReturnsWhereNoRankFailed) { EXPECT_EQ(agree({"", "", ""}, 0), nothing_thrown(3)); }

TEST(AgreeNoFailure, EveryRankThrowsTheLineOfTheLowestFailedRank) {
  EXPECT_THAT(agree({"", "[train] second", "[train] third"}, 1), Each(StrEq("[train] second")));
}

TEST(AgreeNoFailure, CutsALineThatIsTooLongOnEveryRankAlike) {
  const auto errors = agree({"", "[train] " + std::string(10'000, 'x')}, 1);
  EXPECT_GT(errors[0].size(), 4'000U);
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(AgreeNoFailure, GivesALineWithoutAStageOne) {
  EXPECT_THAT(agree({"std::bad_alloc"}, 1), Each(StrEq("[run] std::bad_alloc")));
}

TEST(AgreeNoFailure, ThrowsTheFamilyOfTheFailedRanksExitCode) {
  run_ranks(2, [](Communicator& comm) {
    const std::string mine = comm.rank() == 1 ? "[data] bad" : "";
    const int code = comm.rank() == 1 ? 2 : 0;
    EXPECT_THROW(agree_no_failure(comm, mine, code, {"a", 1}), InputError);
    EXPECT_THROW(agree_no_failure(comm, mine, code + 1, {"b", 1}), CheckError);
    EXPECT_THROW(agree_no_failure(comm, mine, 1, {"c", 1}), RunError);
  });
}

}  // namespace
}  // namespace samegrad
