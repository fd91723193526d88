// A loss of several terms, each divided by its own N over all ranks, against autograd of the whole objective in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "tests/unit/ddp/graph_trial.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

using testing::agree;
using ::testing::AllOf;
using ::testing::Each;
using testing::hashes;
using ::testing::HasSubstr;
using Leaves = std::vector<at::Tensor>;
using Split = std::vector<std::int64_t>;

constexpr std::int64_t kAtoms = 6;
constexpr double kConstant = 1000.0;
const std::vector<Split> kSplits{{6}, {2, 4}, {4, 0, 2}, {1, 4, 1}};

std::vector<NamedTensor> initial_values() {
  const auto values = [](at::IntArrayRef sizes, double frequency, std::int64_t elements) {
    return (at::arange(elements, at::kDouble) * frequency + 0.3).sin().reshape(sizes);
  };
  return {{"weight", values({4, 4}, 0.9, 16).to(at::kFloat)},
          {"bias", values({4}, 1.7, 4).to(at::kFloat)},
          {"scale", values({4}, 0.6, 4)}};
}

std::int64_t lm_units(std::int64_t atom) { return atom == 1 ? 0 : 3 + 5 * atom; }
double aux_weight(std::int64_t atom) { return atom == 3 ? 0.0 : 0.3 + 0.7 * static_cast<double>(atom); }

at::Tensor hidden(const Leaves& leaves, std::int64_t rows, std::int64_t atom) {
  const at::Tensor inputs = (at::arange(rows * 4, at::kDouble) * (0.17 + 0.06 * static_cast<double>(atom))).cos();
  return at::tanh(at::matmul(inputs.reshape({rows, 4}).to(leaves[0].dtype()), leaves[0]) + leaves[1]);
}
at::Tensor lm(const Leaves& leaves, std::int64_t atom) {
  const std::int64_t rows = lm_units(atom);
  return rows == 0 ? at::Tensor() : (hidden(leaves, rows, atom).to(at::kDouble) * leaves[2]).pow(2).sum();
}
at::Tensor aux(const Leaves& leaves, std::int64_t atom) { return hidden(leaves, 2, atom).sum() * aux_weight(atom); }
at::Tensor fixed(const Leaves& leaves, std::int64_t atom) { return hidden(leaves, 5, atom).pow(4).sum(); }
at::Tensor l2(const Leaves& leaves) { return leaves[0].pow(2).sum() * 0.01; }

/// sum over terms of S_k / N_k, in one graph, in double; `lm_divisor` by atom.
Leaves whole(const std::function<double(std::int64_t)>& lm_divisor, bool with_aux = true) {
  Leaves leaves;
  for (const NamedTensor& value : initial_values()) {
    leaves.push_back(value.tensor.to(at::kDouble).clone().requires_grad_(true));
  }
  double weights = 0.0;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) weights += aux_weight(atom);
  at::Tensor objective = l2(leaves);
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) {
    if (lm_units(atom) > 0) objective = objective + lm(leaves, atom) / lm_divisor(atom);
    if (with_aux) objective = objective + aux(leaves, atom) / weights;
    objective = objective + fixed(leaves, atom) / kConstant;
  }
  objective.backward();
  Leaves gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

double all_lm_units() {
  double units = 0.0;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) units += static_cast<double>(lm_units(atom));
  return units;
}

/// What the terms and the callable are on a rank that has atoms `range`; changed by a test.
struct Trial {
  std::function<void(WindowRequest&, int rank)> change = [](WindowRequest&, int) {};
  std::function<void(std::vector<at::Tensor>&, std::int64_t atom)> change_sums = [](auto&, std::int64_t) {};
};

struct Outcome {
  std::string error;
  WindowAction action = WindowAction::kRefuse;
  Leaves gradients;
  LossSum loss;
  std::vector<TermLoss> terms;
  std::map<std::string, int> calls;
};

WindowRequest request_of(AtomRange range) {
  std::int64_t units = 0;
  std::vector<double> weights;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    units += lm_units(atom);
    weights.push_back(aux_weight(atom));
  }
  return {.atoms = range.size(),
          .terms = {{.name = "lm", .count = units},
                    {.name = "aux", .weights = weights},
                    {.name = "fixed", .constant = kConstant},
                    {.name = "l2", .kind = TermKind::kRegularizer}},
          .update = 3};
}

Outcome run_rank(Communicator& inner, const Trial& trial, const Split& split) {
  testing::CountingCommunicator comm(inner);
  const std::int64_t first = std::accumulate(split.begin(), split.begin() + comm.rank(), std::int64_t{0});
  WindowRequest request = request_of({first, first + split[static_cast<std::size_t>(comm.rank())]});
  trial.change(request, comm.rank());
  std::vector<NamedTensor> parameters = initial_values();
  Leaves leaves;
  for (NamedTensor& parameter : parameters) leaves.push_back(parameter.tensor.requires_grad_(true));
  const ParameterSet set(parameters);
  GradientBufferPool pool(set);
  Outcome outcome;
  try {
    Window window(set, pool, comm, request);
    outcome.action = window.decision().action;
    for (std::int64_t i = 0; i < request.atoms.value(); ++i) {
      window.backward([&] {
        const std::int64_t atom = window.atom();
        std::vector<at::Tensor> sums{lm(leaves, atom), aux(leaves, atom), fixed(leaves, atom),
                                     atom == 0 ? l2(leaves) : at::Tensor()};
        trial.change_sums(sums, atom);
        return sums;
      });
    }
    window.reduce();
    outcome.loss = window.loss();
    outcome.terms.assign(window.term_losses().begin(), window.term_losses().end());
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  for (const at::Tensor& leaf : leaves) outcome.gradients.push_back(leaf.grad());
  outcome.calls = comm.calls();
  return outcome;
}

std::vector<Outcome> run(const Split& split, const Trial& trial = {}) {
  std::vector<Outcome> outcomes(split.size());
  const auto ranks = static_cast<int>(split.size());
  EXPECT_EQ(testing::run_ranks(ranks,
                               [&](Communicator& comm) {
                                 outcomes[static_cast<std::size_t>(comm.rank())] = run_rank(comm, trial, split);
                               }),
            testing::nothing_thrown(ranks));
  return outcomes;
}

std::vector<std::string> errors_of(const Split& split, const Trial& trial) {
  std::vector<std::string> errors;
  for (const Outcome& outcome : run(split, trial)) errors.push_back(outcome.error);
  return errors;
}

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
    EXPECT_EQ(outcome.terms[0].loss.sum, testing::literal_tree(lm_sums, 0, lm_sums.size()));
    EXPECT_EQ(outcome.terms[0].loss.divisor(), all_lm_units());
    EXPECT_EQ(outcome.terms[1].loss.weight, testing::literal_tree(weights, 0, weights.size()));
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

TEST(WindowTerms, ThatDifferBetweenRanksAreRefusedByAllNamingBoth) {
  const auto on_rank_1 = [](const std::function<void(LossTerm&)>& change) {
    return Trial{.change = [change](WindowRequest& request, int rank) {
      if (rank == 1) change(request.terms[1]);
    }};
  };
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.name = "other"; })),
              Each(HasSubstr("ranks differ in loss term 1: rank 0 has aux (weights), rank 1 has other (weights)")));
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.empty = EmptyTermPolicy::kDrop; })),
              Each(HasSubstr("rank 0 has aux (weights), rank 1 has aux (weights, empty: drop)")));
  EXPECT_THAT(errors_of({2, 4}, on_rank_1([](LossTerm& term) { term.weights.reset(); })),
              Each(HasSubstr("rank 0 has aux (weights), rank 1 has aux (units)")));
  const Trial constant{.change = [](WindowRequest& request, int rank) { request.terms[2].constant = 7.0 + rank; }};
  EXPECT_THAT(errors_of({2, 4}, constant),
              Each(HasSubstr("rank 0 has fixed (constant 7), rank 1 has fixed (constant 8)")));
}

TEST(WindowTerms, ThatCannotBeAreRefusedOnAllRanksNamingTheTerm) {
  const auto refused = [](const std::function<void(WindowRequest&)>& change) {
    return errors_of({2, 4}, Trial{.change = [change](WindowRequest& request, int rank) {
                       if (rank == 1) change(request);
                     }});
  };
  const std::string who = "rank 1, update 3: ";
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[0].count = -2; }),
              Each(HasSubstr(who + "loss term lm: .count is -2")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[1].weights->pop_back(); }),
              Each(HasSubstr(who + "loss term aux: 3 weights for 4 atoms")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].constant = 0.0; }),
              Each(HasSubstr(who + "loss term fixed: the constant is 0;")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].count = 5; }), Each(HasSubstr("a constant and a count")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[3].count = 5; }), Each(HasSubstr("a regularizer is not divided")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].name = "lm"; }), Each(HasSubstr("have the name lm")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms[2].name = std::string(32, 'x'); }), Each(HasSubstr("1 to 31")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.terms.resize(9, {.name = "more"}); }),
              Each(HasSubstr("9 loss terms, allowed are 8")));
  EXPECT_THAT(refused([](WindowRequest& r) { r.count = 5; }), Each(HasSubstr("terms and a count")));
}

TEST(WindowTerms, WhoseTotalWeightOverflowsAreRefusedOnAllRanks) {
  const Trial trial{.change = [](WindowRequest& request, int) {
    for (double& weight : *request.terms[1].weights) weight = std::numeric_limits<double>::max();
  }};
  EXPECT_THAT(errors_of({2, 4}, trial), Each(HasSubstr("loss term aux: its total weight is above")));
}

TEST(WindowTerms, WithSumsThatDoNotFitThemAreAnErrorOnAllRanks) {
  const auto errors = [](const std::function<void(std::vector<at::Tensor>&, std::int64_t)>& change_sums) {
    return errors_of({2, 4}, Trial{.change_sums = change_sums});
  };
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) { sums.resize(atom == 4 ? 3 : 4); }),
              Each(HasSubstr("atom 4: the callable returned 3 sums for the 4 loss terms lm, aux, fixed, l2")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t) { sums[3] = at::Tensor(); }),
              Each(HasSubstr("atom 0: the regularizer l2 is undefined")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) { sums[0] = atom < 2 ? sums[0] : at::Tensor(); }),
              Each(HasSubstr("rank 1, update 3: loss term lm has a count of")));
  EXPECT_THAT(errors([](auto& sums, std::int64_t atom) {
                if (atom == 5) sums[1] = at::ones({2});
              }),
              Each(HasSubstr("rank 1, update 3, atom 5: the callable returned a tensor of 2 elements")));
  EXPECT_THAT(errors([](auto&, std::int64_t atom) {
                if (atom == 1) throw std::runtime_error("out of ideas");
              }),
              Each(HasSubstr("rank 0, update 3, atom 1: out of ideas")));
}

TEST(WindowTerms, TakeARegularizerFromAtom0AloneWhateverOthersReturn) {
  const Trial everywhere{.change_sums = [](std::vector<at::Tensor>& sums, std::int64_t atom) {
    if (atom != 0) sums[3] = sums[2] * 7.0;
  }};
  EXPECT_EQ(hashes(run({2, 4}, everywhere).front().gradients), hashes(run({kAtoms}).front().gradients));
}

}  // namespace
}  // namespace samegrad
