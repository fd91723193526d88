#include "samegrad/report/dry_run.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

TEST(DryRun, ShowsCutsMemoryAndTheFirstWindowByRank) {
  DryRun dry_run{.data_lines = {"train.jsonl: 10 samples, 480 supervised tokens", "train.jsonl:7: cut"},
                 .memory = {.parameters = 1024, .optimizer = 2048, .gradients = 4096, .activations = 1024},
                 .first_update = 1,
                 .first_window = {{2, 16, 40, 12}, {2, 16, 60, 36}},
                 .cost = {.atoms = 1.501, .ranks = 1.204}};
  const std::string text = dry_run_tables(dry_run, {});
  for (const char* part : {"train.jsonl:7: cut", "8.0 KiB", "25.0 %", "75.0 %", "N = 48", "50.0 % more",
                           "Cost: the largest atom 1.50 x the mean, the fullest rank 1.20 x the mean."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(DryRun, ShowsEachRanksPartOfNWhereTokensAreNotWhatItCounts) {
  const std::string counted =
      dry_run_tables({.first_window = {{2, 16, 40, 12, {0, 7}}, {2, 16, 60, 36, {0, 9}}}, .counted = "sequences"}, {});
  EXPECT_NE(counted.find("of N: sequences"), std::string::npos) << counted;
  EXPECT_NE(counted.find("N = 16 (sequences); the fullest rank holds 50.0 % more tokens"), std::string::npos)
      << counted;
  const std::string weighed = dry_run_tables(
      {.first_window = {{1, 1, 5, 2, {0, 2, 0.25}}, {1, 1, 5, 2, {0, 2, 1.5}}}, .counted = "total weight"}, {});
  EXPECT_NE(weighed.find("N = 1.75 (total weight)"), std::string::npos) << weighed;
}

TEST(DryRun, AWindowWithoutSupervisedTokensIsSaidInWords) {
  const std::string text = dry_run_tables({.first_window = {{1, 1, 5, 0}, {1, 1, 5, 0}}}, {});
  EXPECT_NE(text.find("No supervised token on any rank"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(MemoryEstimate, CountsBlocksOfTheOptimizerAndTheAtomTree) {
  RunConfig config;
  config.plan.virtual_ranks = 2;
  config.plan.accumulation = 4;
  const std::int64_t parameters = 1000;
  const MemoryEstimate sgd = estimate_memory(config, parameters, 100, 10);
  EXPECT_EQ(sgd.parameters, 4000);
  EXPECT_EQ(sgd.optimizer, 0);
  // 8 atoms: sums of four, two and one atom that wait for their siblings, and the atom being computed.
  EXPECT_EQ(sgd.gradients, 4 * 4000);
  config.optimizer.kind = "adamw";
  EXPECT_EQ(estimate_memory(config, parameters, 100, 10).optimizer, 8000);
}

TEST(MemoryEstimate, ActivationsGrowWithTokensAndWithTheLongestSequenceButNotItsSquare) {
  RunConfig config;
  const auto activations = [&](std::int64_t tokens, std::int64_t longest) {
    return estimate_memory(config, 1, tokens, longest).activations;
  };
  const std::int64_t of_a_hundred = activations(200, 64) - activations(100, 64);
  EXPECT_EQ(activations(300, 64) - activations(200, 64), of_a_hundred);
  config.model.dropout = 0.1;  // masks of attention's weights are not kept
  const std::int64_t of_a_thousand = activations(10'000, 2'048) - activations(10'000, 1'024);
  EXPECT_GT(of_a_thousand, 0);
  EXPECT_EQ(activations(10'000, 3'072) - activations(10'000, 2'048), of_a_thousand);
  config.model.layers = 8;
  const std::int64_t eight_layers = activations(10'000, 64);
  config.model.gradient_checkpointing = true;
  EXPECT_LT(activations(10'000, 64), eight_layers / 3);
}

}  // namespace
}  // namespace samegrad
