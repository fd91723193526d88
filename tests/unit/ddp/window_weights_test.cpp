// Windows whose units have weights: N is a double, summed by the tree over atoms, and agreed on like a count.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

constexpr std::int64_t kAtoms = 11;
constexpr std::int64_t kFeatures = 9;

/// Atom 2 weighs nothing.
double weight_of(std::int64_t atom) { return atom == 2 ? 0.0 : 0.1 + 0.07 * static_cast<double>(atom * atom); }

struct Outcome {
  WindowAction action = WindowAction::kRefuse;
  std::vector<float> gradient;
  LossSum loss;
  std::string error;
  int exit_code = 0;
};

struct Trial {
  std::function<double(std::int64_t)> weight = weight_of;
  EmptyWindowPolicy empty_window = EmptyWindowPolicy::kError;
  int weights_missing_on_rank = -1;
  int counted_rank = -1;
};

WindowRequest request_of(const Trial& trial, AtomRange range, int rank) {
  std::vector<double> weights;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) weights.push_back(trial.weight(atom));
  if (rank == trial.weights_missing_on_rank) weights.pop_back();
  WindowRequest request{.count = range.size(),
                        .atoms = range.size(),
                        .empty_window = trial.empty_window,
                        .atom_weights = weights,
                        .update = 5};
  if (rank == trial.counted_rank) request.atom_weights.reset();
  return request;
}

Outcome run_rank(Communicator& comm, const Trial& trial) {
  FlatParameters parameters({{"weight", {kFeatures}}});
  for (std::size_t i = 0; i < kFeatures; ++i) parameters.values()[i] = std::sin(static_cast<float>(i));
  GradientBufferPool pool(parameters.set());
  const AtomRange range = rank_ranges(kAtoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  Outcome outcome;
  try {
    Window window(parameters.set(), pool, comm, request_of(trial, range, comm.rank()));
    outcome.action = window.decision().action;
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(1, [&] {
        const at::Tensor rows = at::cos(at::arange(kFeatures, at::kFloat) * (0.1 + 0.3 * static_cast<double>(atom)));
        return (rows * parameters.tensors()[0]).pow(2).sum() * trial.weight(atom);
      });
    }
    if (!window.reduce()) return outcome;
    outcome.loss = window.loss();
    outcome.gradient.assign(window.gradient().begin(), window.gradient().end());
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.exit_code = static_cast<int>(error.exit_code());
  }
  return outcome;
}

std::vector<Outcome> run(int world_size, const Trial& trial = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
  EXPECT_EQ(testing::run_ranks(
                world_size,
                [&](Communicator& comm) { outcomes[static_cast<std::size_t>(comm.rank())] = run_rank(comm, trial); }),
            testing::nothing_thrown(world_size));
  return outcomes;
}

TEST(WindowWeights, GiveTheSameGradientAndTotalForEveryNumberOfRanks) {
  std::vector<double> weights;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) weights.push_back(weight_of(atom));
  const double total = testing::literal_tree(weights, 0, weights.size());
  const Outcome alone = run(1).front();
  for (const int world_size : {1, 2, 3, 4, 5, 7, 8, 13}) {
    for (const Outcome& outcome : run(world_size)) {
      EXPECT_EQ(outcome.gradient, alone.gradient) << world_size << " ranks";
      EXPECT_EQ(outcome.loss.sum, alone.loss.sum);
      EXPECT_EQ(outcome.loss.weight, total);
      EXPECT_EQ(outcome.loss.mean(), outcome.loss.sum / total);
    }
  }
}

// The control: the same weights, summed on each rank first.
TEST(WindowWeights, DifferFromATotalOfRankSums) {
  const double exact = run(3).front().loss.weight.value();
  double total = 0.0;
  for (const AtomRange& range : rank_ranges(kAtoms, 3)) {
    double partial = 0.0;
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) partial += weight_of(atom);
    total += partial;
  }
  EXPECT_NE(total, exact);
  EXPECT_NEAR(total, exact, 1e-12);
}

TEST(WindowWeights, GiveTheGradientOfTheWeightedMean) {
  const Outcome outcome = run(2).front();
  for (std::size_t i = 0; i < kFeatures; ++i) {
    double sum = 0.0;
    double total = 0.0;
    for (std::int64_t atom = 0; atom < kAtoms; ++atom) {
      const double row = std::cos(static_cast<double>(i) * (0.1 + 0.3 * static_cast<double>(atom)));
      sum += weight_of(atom) * 2.0 * row * row * std::sin(static_cast<double>(i));
      total += weight_of(atom);
    }
    EXPECT_NEAR(outcome.gradient[i], sum / total, 1e-6 + 1e-4 * std::abs(sum / total));
  }
}

/// All ranks refuse with the same line and code.
void expect_refused(const Trial& trial, const std::string& text, int exit_code) {
  const std::vector<Outcome> outcomes = run(3, trial);
  EXPECT_NE(outcomes[0].error.find(text), std::string::npos) << outcomes[0].error;
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.action, WindowAction::kRefuse);
    EXPECT_EQ(outcome.error, outcomes[0].error);
    EXPECT_EQ(outcome.exit_code, exit_code);
  }
}

TEST(WindowWeights, ThatAreNegativeOrNotFiniteAreRefusedByNameOnAllRanks) {
  using Limits = std::numeric_limits<double>;
  const std::map<std::string, double> bad{
      {"-1e-300", -1e-300}, {"nan", Limits::quiet_NaN()}, {"inf", Limits::infinity()}};
  for (const auto& [text, weight] : bad) {
    expect_refused({.weight = [bad = weight](std::int64_t atom) { return atom == 6 ? bad : 1.0; }},
                   "rank 1, update 5: the weight of this rank's atom 2 (from 0) is " + text + ";", 2);
  }
}

TEST(WindowWeights, OfAnotherNumberThanTheRanksAtomsAreRefusedOnAllRanks) {
  expect_refused({.weights_missing_on_rank = 1}, "rank 1, update 5: 3 weights for 4 atoms", 2);
}

TEST(WindowWeights, OnOneRankAndCountsOnAnotherAreRefusedOnAllRanks) {
  expect_refused({.counted_rank = 2}, "ranks differ in how units count: rank 0 has weighted, rank 2 has counted", 1);
}

TEST(WindowWeights, OfZeroInAllRanksAreAnEmptyWindow) {
  Trial trial{.weight = [](std::int64_t) { return 0.0; }};
  expect_refused(trial, "weight 0 in all ranks", 1);
  trial.empty_window = EmptyWindowPolicy::kSkip;
  for (const Outcome& outcome : run(3, trial)) EXPECT_EQ(outcome.action, WindowAction::kSkip);
}

TEST(WindowWeights, WhoseTotalOverflowsAreRefusedOnAllRanks) {
  const Trial trial{.weight = [](std::int64_t) { return std::numeric_limits<double>::max(); }};
  const std::vector<Outcome> outcomes = run(3, trial);
  EXPECT_NE(outcomes[0].error.find("total weight"), std::string::npos) << outcomes[0].error;
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, outcomes[0].error);
}

}  // namespace
}  // namespace samegrad
