#include "samegrad/objective/counter_example.h"

#include <gtest/gtest.h>

#include <cmath>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

TEST(CounterExample, OfTheLessonIsTwoAgainstTwoAndAHalfAndZeroAgainstOne) {
  const CounterExample example = counter_example(kLessonRanks);
  EXPECT_EQ(example.local_tokens, (std::vector<std::int64_t>{12, 36}));
  EXPECT_EQ(example.local_loss_sums, (std::vector<double>{12.0, 108.0}));
  EXPECT_EQ(example.loss.mean_of_means, 2.0);
  EXPECT_EQ(example.loss.global_mean, 2.5);
  EXPECT_EQ(example.toy_gradient.mean_of_means, 0.0);
  EXPECT_EQ(example.toy_gradient.global_mean, 1.0);
}

TEST(CounterExample, WithRanksSwappedIsTheSame) {
  const std::array<ExampleRank, 2> swapped{kLessonRanks[1], kLessonRanks[0]};
  const CounterExample example = counter_example(swapped);
  EXPECT_EQ(example.loss.global_mean, 2.5);
  EXPECT_EQ(example.toy_gradient.global_mean, 1.0);
}

TEST(CounterExample, WithEqualCountsCannotTellTheTwoMeansApart) {
  const CounterExample example = counter_example(kEqualRanks);
  EXPECT_EQ(example.loss.mean_of_means, 2.0);
  EXPECT_EQ(example.loss.global_mean, 2.0);
  EXPECT_EQ(example.toy_gradient.mean_of_means, example.toy_gradient.global_mean);
}

// Two evaluation batches of (sum, tokens) = (2, 1) and (90, 9): 9.2, and not 6.
TEST(TwoMeans, OfUnequalBatches) {
  const std::array<LossSum, 2> batches{{{2.0, 1}, {90.0, 9}}};
  EXPECT_DOUBLE_EQ(two_means(batches).global_mean, 9.2);
  EXPECT_DOUBLE_EQ(two_means(batches).mean_of_means, 6.0);
}

TEST(TwoMeans, WithoutTokensAreNotANumber) {
  const std::array<LossSum, 2> one_empty{{{0.0, 0}, {36.0, 12}}};
  EXPECT_TRUE(std::isnan(two_means(one_empty).mean_of_means));
  EXPECT_EQ(two_means(one_empty).global_mean, 3.0);
  const std::array<LossSum, 1> all_empty{{{0.0, 0}}};
  EXPECT_TRUE(std::isnan(two_means(all_empty).global_mean));
  EXPECT_THROW(two_means({}), InvariantError);
}

TEST(CounterExample, JsonHasTheNamesThatCheckLossPrints) {
  EXPECT_EQ(counter_example_to_json(counter_example(kLessonRanks)).dump(),
            R"({"local_tokens":[12,36],"local_loss_sums":[12.0,108.0],"mean_of_means":2.0,"global_mean":2.5,)"
            R"("toy_gradient":{"mean_of_means":0.0,"global_mean":1.0}})");
}

}  // namespace
}  // namespace samegrad
