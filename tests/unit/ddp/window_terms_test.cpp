// A loss of several terms, each divided by its own N over all ranks, against autograd of the whole objective in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ddp/terms_trial.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(WindowTerms, AreEachDividedByTheirOwnNOverAllRanksWithOneHashForEverySplit) {
  const std::vector<std::string> alone = hashes(run({kAtoms}).front().gradients);
  const Leaves expected = whole([](std::int64_t) { return all_lm_units(); });
  for (const Split& split : kSplits) {
    for (const Outcome& outcome : run(split)) {
      ASSERT_EQ(outcome.error, "");
      EXPECT_EQ(hashes(outcome.gradients), alone) << split.size() << " ranks";
      EXPECT_TRUE(agree(outcome.gradients, expected));
    }
  }
}

// The controls: the same comparison with a term divided by its rank's own count (as a mean over ranks would have it),
// and with the whole divided once more.
TEST(WindowTerms, AreNotDividedByLocalCounts) {
  const Split split{2, 4};
  const Leaves local = whole([](std::int64_t atom) {
    double units = 0.0;
    for (std::int64_t other = atom < 2 ? 0 : 2; other < (atom < 2 ? 2 : kAtoms); ++other) {
      units += static_cast<double>(lm_units(other));
    }
    return units * 2.0;
  });
  for (const Outcome& outcome : run(split)) EXPECT_FALSE(agree(outcome.gradients, local));
  EXPECT_FALSE(agree(run(split).front().gradients, whole([](std::int64_t) { return all_lm_units(); }, false)));
}

TEST(WindowTerms, TellWhatEachCameToAndTheObjective) {
  std::vector<double> lm_sums;
  std::vector<double> weights;
  Leaves leaves;
  for (const NamedTensor& value : initial_values()) leaves.push_back(value.tensor);
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) {
    lm_sums.push_back(lm_units(atom) > 0 ? lm(leaves, atom).item<double>() : 0.0);
    weights.push_back(aux_weight(atom));
  }
  for (const Outcome& outcome : run({2, 4})) {
    ASSERT_EQ(outcome.terms.size(), 4);
    EXPECT_EQ(outcome.terms[0].name, "lm");
    EXPECT_EQ(outcome.terms[0].loss.sum, literal_tree(lm_sums, 0, lm_sums.size()));
    EXPECT_EQ(outcome.terms[0].loss.divisor(), all_lm_units());
    EXPECT_EQ(outcome.terms[1].loss.weight, literal_tree(weights, 0, weights.size()));
    EXPECT_EQ(outcome.terms[2].loss.divisor(), kConstant);
    EXPECT_EQ(outcome.terms[3].loss.sum, l2(leaves).item<double>());
    EXPECT_EQ(outcome.loss.divisor(), 1.0);
    double objective = 0.0;
    for (const TermLoss& term : outcome.terms) objective += term.loss.mean();
    EXPECT_NEAR(outcome.loss.mean(), objective, 1e-12);
  }
}

TEST(WindowTerms, CostOneExchangeMoreForWeightsAndNoneWithout) {
  const auto small_calls = [](const Trial& trial) {
    int calls = 0;
    const Outcome outcome = run({2, 4}, trial).front();
    for (const auto& [name, count] : outcome.calls) {
      if (!name.starts_with("gradient/")) calls += count;
    }
    return calls;
  };
  EXPECT_EQ(small_calls({}), 4);
  const Trial counted{
      .change = [](WindowRequest& request, int) { request.terms[1] = {.name = "aux", .count = request.atoms}; }};
  EXPECT_EQ(small_calls(counted), 3) << "agreement, failures, loss sums";
}

/// `policy` for an lm that only the ranks from `first_rank_with_data` on have units of (none: 9).
Trial with_empty_lm(EmptyTermPolicy policy, int first_rank_with_data) {
  return {.change =
              [=](WindowRequest& request, int rank) {
                request.terms[0].empty = policy;
                if (rank < first_rank_with_data) request.terms[0].count = 0;
              },
          .change_sums =
              [=](std::vector<at::Tensor>& sums, std::int64_t atom) {
                if (first_rank_with_data == 1 && atom < 2) sums[0] = at::Tensor();
              }};
}

TEST(WindowTerms, MayBeEmptyOnOneRank) {
  for (const Outcome& outcome : run({2, 4}, with_empty_lm(EmptyTermPolicy::kError, 1))) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.terms[0].loss.count, static_cast<std::int64_t>(all_lm_units()) - lm_units(0) - lm_units(1));
  }
}

TEST(WindowTerms, ThatAreEmptyInAllRanksAreRefusedDroppedOrSkipTheWindow) {
  EXPECT_THAT(errors_of({2, 4}, with_empty_lm(EmptyTermPolicy::kError, 9)),
              Each(HasSubstr("window of update 3: 0 units of the loss term lm in all ranks")));
  for (const Outcome& outcome : run({2, 4}, with_empty_lm(EmptyTermPolicy::kSkipWindow, 9))) {
    EXPECT_EQ(outcome.action, WindowAction::kSkip);
    EXPECT_EQ(hashes(outcome.gradients), std::vector<std::string>(3));
  }
}

TEST(WindowTerms, ThatAreDroppedContributeNothingEvenWhereAnAtomReturnsASum) {
  const Trial dropped{.change =
                          [](WindowRequest& request, int) {
                            std::ranges::fill(*request.terms[1].weights, 0.0);
                            request.terms[1].empty = EmptyTermPolicy::kDrop;
                          },
                      .change_sums = [](std::vector<at::Tensor>& sums,
                                        std::int64_t atom) { sums[1] = atom < 3 ? at::Tensor() : sums[1] * 1e30; }};
  const Leaves without = whole([](std::int64_t) { return all_lm_units(); }, /*with_aux=*/false);
  for (const Outcome& outcome : run({2, 4}, dropped)) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(agree(outcome.gradients, without));
    EXPECT_EQ(outcome.terms[1].loss.sum, 0.0);
  }
}

TEST(WindowTerms, ThatAreAllEmptyMakeTheWindowEmptyWhateverTheirOwnPolicies) {
  Trial empty{.change = [](WindowRequest& request, int) {
    request.terms = {{.name = "lm", .empty = EmptyTermPolicy::kDrop},
                     {.name = "aux", .weights = std::vector<double>(static_cast<std::size_t>(request.atoms.value()))},
                     {.name = "l2", .kind = TermKind::kRegularizer}};
  }};
  EXPECT_THAT(errors_of({2, 4}, empty), Each(HasSubstr("0 units of every loss term in all ranks")));
  Trial skipped{.change = [empty](WindowRequest& request, int rank) {
    empty.change(request, rank);
    request.empty_window = EmptyWindowPolicy::kSkip;
  }};
  for (const Outcome& outcome : run({2, 4}, skipped)) EXPECT_EQ(outcome.action, WindowAction::kSkip);
}

TEST(WindowTerms, TakeARegularizerFromAtom0AloneWhateverOthersReturn) {
  const Trial everywhere{.change_sums = [](std::vector<at::Tensor>& sums, std::int64_t atom) {
    if (atom != 0) sums[3] = sums[2] * 7.0;
  }};
  EXPECT_EQ(hashes(run({2, 4}, everywhere).front().gradients), hashes(run({kAtoms}).front().gradients));
}

}  // namespace
}  // namespace samegrad::testing
