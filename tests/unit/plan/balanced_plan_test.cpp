#include "samegrad/plan/balanced_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "samegrad/base/error.h"
#include "samegrad/plan/cost_balance.h"
#include "samegrad/plan/sampler_history.h"
#include "tests/unit/plan/length_source.h"

namespace samegrad {
namespace {

RunConfig text_config(const std::string& balance) {
  RunConfig config;
  config.data.task = "text";
  config.plan.balance = balance;
  config.plan.updates = 12;
  config.plan.virtual_ranks = 2;
  config.plan.accumulation = 3;
  config.plan.batch_size_per_rank = 4;
  config.model.kind = "decoder";
  config.model.vocabulary = 256;
  return config;
}

RunConfig with_costs(RunConfig config, double per_token, double per_token_pair) {
  config.plan.cost_per_token = per_token;
  config.plan.cost_per_token_pair = per_token_pair;
  return config;
}

/// Many short samples and few long ones, as text has.
std::vector<std::int64_t> skewed_lengths(std::int64_t samples) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < samples; ++i) lengths.push_back(i % 9 == 4 ? 200 + i % 57 : 3 + 7 * i % 40);
  return lengths;
}

std::vector<std::int64_t> sorted_ids(const PlanWindow& window) {
  std::vector<std::int64_t> ids;
  for (const Atom& atom : window.atoms) ids.insert(ids.end(), atom.begin(), atom.end());
  std::ranges::sort(ids);
  return ids;
}

RC_GTEST_PROP(BalancedPlan, EveryWindowHasTheSamplesTokensAndPlaceOfTheUnbalancedOne, ()) {
  RunConfig config = text_config("none");
  config.seed = *rc::gen::inRange(0, 1000);
  config.plan.virtual_ranks = *rc::gen::inRange(1, 5);
  config.plan.accumulation = *rc::gen::inRange(1, 4);
  config.plan.batch_size_per_rank = *rc::gen::inRange(1, 6);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(*rc::gen::inRange(1, 70)));
  for (std::int64_t& length : lengths) length = *rc::gen::inRange(0, 300);
  const LengthSource source(lengths);
  const auto drawn = make_update_plan(config, source);
  config.plan.balance = "lpt";
  const auto plan = make_update_plan(config, source);
  RC_ASSERT(plan->updates() == drawn->updates());
  for (std::int64_t update = 1; update <= plan->updates(); ++update) {
    const PlanWindow before = drawn->window(update);
    const PlanWindow after = plan->window(update);
    RC_ASSERT(after.update == before.update);
    RC_ASSERT(after.epoch == before.epoch);
    RC_ASSERT(after.atoms.size() == before.atoms.size());
    RC_ASSERT(sorted_ids(after) == sorted_ids(before));
    RC_ASSERT(plan->cursor(update) == drawn->cursor(update));
    const auto first_empty = std::ranges::find_if(after.atoms, &Atom::empty);
    RC_ASSERT(std::all_of(first_empty, after.atoms.end(), [](const Atom& atom) { return atom.empty(); }));
  }
}

double largest_sample(const PlanWindow& window, const SampleSource& source, const SampleCost& cost) {
  double largest = 0.0;
  for (const std::int64_t id : sorted_ids(window)) largest = std::max(largest, cost.of(source.input_tokens(id)));
  return largest;
}

TEST(BalancedPlan, AtomsAndRanksOfEveryNumberCostNearlyTheSameWhereTheDrawnOnesDoNot) {
  const LengthSource source(skewed_lengths(400));
  RunConfig config = text_config("none");
  config.plan.batch_size_per_rank = 16;
  const auto drawn = make_update_plan(config, source);
  config.plan.balance = "lpt";
  const SampleCost cost = sample_cost(config);
  const auto plan = make_update_plan(config, source);
  std::int64_t even = 0;
  std::int64_t drawn_above = 0;
  for (std::int64_t update = 1; update <= plan->updates(); ++update) {
    const auto costs = atom_costs(plan->window(update), source, cost);
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
    const double largest = largest_sample(plan->window(update), source, cost);
    const double bound = 4.0 / 3.0 * std::max(mean, largest);
    EXPECT_LE(std::ranges::max(costs), bound) << update;
    drawn_above += std::ranges::max(atom_costs(drawn->window(update), source, cost)) > bound ? 1 : 0;
    if (largest > mean) continue;  // one sample alone is more than an atom's share
    ++even;
    for (const std::int64_t ranks : {1, 2, 3, 6}) EXPECT_LT(cost_balance(costs, ranks).ranks, 1.15) << update;
  }
  EXPECT_GE(even, 6);
  EXPECT_GE(drawn_above, 3);
}

// The lesson's short samples no longer stay with virtual rank 0: both virtual ranks get both pools, and equal cost.
TEST(BalancedPlan, SpreadsTheLessonsPoolsOverBothVirtualRanks) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 100; ++i) lengths.push_back(i % 2 == 0 ? 16 + i % 49 : 65 + i % 64);
  const LengthSource source(lengths);
  RunConfig config;
  config.plan.balance = "lpt";
  const auto plan = make_update_plan(config, source);
  EXPECT_EQ(plan->rule(), "lesson-two-pools-1+lpt-1");
  const PlanWindow window = plan->window(1);
  EXPECT_EQ(sorted_ids(window).size(), 32U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::int64_t of_short = 0;
    std::int64_t of_long = 0;
    for (std::size_t atom = 2 * rank; atom < 2 * rank + 2; ++atom) {
      for (const std::int64_t id : window.atoms[atom])
        ++(lengths[static_cast<std::size_t>(id)] <= 64 ? of_short : of_long);
    }
    EXPECT_GE(of_short, 4);
    EXPECT_GE(of_long, 4);
  }
  EXPECT_LT(largest_over_mean(atom_costs(window, source, sample_cost(config))), 1.05);
}

TEST(BalancedPlan, DigestChangesWithBalanceCostsAndLengthsAndWithNothingElse) {
  const auto digest = [](const RunConfig& config, std::vector<std::int64_t> lengths = skewed_lengths(50)) {
    return make_update_plan(config, LengthSource(std::move(lengths)))->digest();
  };
  const RunConfig config = text_config("lpt");
  RunConfig longer = config;
  longer.plan.updates = 20;
  EXPECT_EQ(digest(longer), digest(config));
  EXPECT_NE(digest(text_config("none")), digest(config));
  EXPECT_NE(digest(with_costs(config, 1, 0)), digest(config));
  EXPECT_NE(digest(with_costs(config, 1, 0)), digest(with_costs(config, 1, 0.5)));
  const SampleCost flops = model_flops(config.model);
  EXPECT_EQ(digest(with_costs(config, flops.per_token, flops.per_token_pair)), digest(config));
  auto lengths = skewed_lengths(50);
  ++lengths[7];
  EXPECT_NE(digest(config, lengths), digest(config));
  EXPECT_EQ(digest(text_config("none"), lengths), digest(text_config("none")));
}

TEST(BalancedPlan, HistoriesOfTheVirtualRanksHoldTogetherWhatTheCursorCounts) {
  const LengthSource source(skewed_lengths(40));  // a partial window ends each epoch
  const RunConfig config = text_config("lpt");
  const auto plan = make_update_plan(config, source);
  std::vector<SamplerHistory> histories{{.virtual_rank = 0}, {.virtual_rank = 1}};
  for (std::int64_t update = 1; update <= plan->updates(); ++update) {
    std::int64_t samples = 0;
    for (SamplerHistory& history : histories) {
      append_window(history, plan->window(update), config.plan.accumulation);
      samples += history.samples_consumed;
    }
    EXPECT_EQ(samples, plan->cursor(update).samples_consumed);
  }
  EXPECT_NE(histories[0].samples_consumed, histories[1].samples_consumed);
}

// Four atoms of 1, 2, 3 and 6: two ranks hold 3 and 9, three hold 1, 2 and 9.
TEST(CostBalance, IsTheLargestOverTheMeanOfAtomsAndOfRanks) {
  const std::vector<double> atoms{1, 2, 3, 6};
  EXPECT_EQ(cost_balance(atoms, 1).ranks, 1.0);
  EXPECT_EQ(cost_balance(atoms, 2).atoms, 2.0);
  EXPECT_EQ(cost_balance(atoms, 2).ranks, 1.5);
  EXPECT_EQ(cost_balance(atoms, 3).ranks, 2.25);
  EXPECT_EQ(cost_balance(atoms, 8).ranks, 4.0);
  EXPECT_EQ(cost_balance(std::vector<double>{0, 0}, 2).atoms, 1.0);
}

TEST(BalancedPlan, RefusesABalanceThatIsNoneAndSamplesTooLongToHold) {
  const LengthSource source({5});
  EXPECT_THROW(make_update_plan(text_config("longest"), source), InputError);
  EXPECT_THROW(make_update_plan(text_config("lpt"), LengthSource({std::int64_t{1} << 32})), InputError);
}

}  // namespace
}  // namespace samegrad
