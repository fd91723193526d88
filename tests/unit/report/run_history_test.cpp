#include "samegrad/report/run_history.h"

#include <gtest/gtest.h>

#include <cmath>

#include "samegrad/base/error.h"
#include "samegrad/report/loss_divisor.h"

namespace samegrad {
namespace {

Json line(const char* run, const char* kind, std::int64_t update, double loss_sum) {
  return {{"run_id", run},
          {"kind", kind},
          {"update", update},
          {"loss_sum", loss_sum},
          {"supervised_tokens", 48},
          {"ranks",
           {{{"supervised_tokens", 12}, {"compute_seconds", 1.0}, {"wait_seconds", 0.5}, {"exchange_seconds", 0.25}},
            {{"supervised_tokens", 36}, {"compute_seconds", 1.5}, {"wait_seconds", 0.0}, {"exchange_seconds", 0.25}}}}};
}

TEST(RunHistory, TakesTheLastRunOfEachKindAndTheStoppedOneThatWasResumed) {
  std::vector<Json> lines{line("old", "continuous", 1, 1.0), line("a", "stopped", 1, 10.0),
                          line("a", "stopped", 2, 11.0),     line("c", "continuous", 1, 10.0),
                          line("c", "continuous", 2, 11.0),  line("a", "resumed", 3, 12.0),
                          line("z", "stopped", 1, 99.0)};
  const RunHistory history = run_history(lines);
  ASSERT_EQ(history.loss.continuous.size(), 2U);
  EXPECT_EQ(history.loss.continuous[0].loss.sum, 10.0);
  ASSERT_EQ(history.loss.stopped.size(), 2U);
  EXPECT_EQ(history.loss.stopped[1].loss.sum, 11.0);
  ASSERT_EQ(history.loss.resumed.size(), 1U);
  EXPECT_EQ(history.loss.stopped_at, 2);
  ASSERT_EQ(history.windows.size(), 2U);
  EXPECT_EQ(history.windows[0].by_rank, (std::vector<std::int64_t>{12, 36}));
  EXPECT_EQ(history.ranks[1].supervised_tokens, 72);
  EXPECT_EQ(history.ranks[0].wait_seconds, 1.0);
}

TEST(RunHistory, WithoutAContinuousRunTheWindowsAreThoseOfStopAndResume) {
  const std::vector<Json> lines{line("a", "stopped", 1, 10.0), line("a", "resumed", 2, 11.0)};
  EXPECT_EQ(run_history(lines).windows.size(), 2U);
}

TEST(RunHistory, SkippedWindowsHaveTokensButNoLoss) {
  Json skipped = line("a", "continuous", 1, 0.0);
  skipped["supervised_tokens"] = 0;
  const RunHistory history = run_history(std::vector<Json>{skipped});
  EXPECT_TRUE(history.loss.continuous.empty());
  EXPECT_EQ(history.windows.size(), 1U);
}

TEST(RunHistory, ValidationAndNonFiniteLossesAreRead) {
  Json validated = line("a", "continuous", 20, 5.0);
  validated["loss_sum"] = "NaN";
  Json stopped = line("b", "stopped", 10, 5.0);
  stopped["validation"] = {{"loss_sum", 99.0}, {"supervised_tokens", 9}};
  validated["validation"] = {{"loss_sum", 90.0}, {"supervised_tokens", 9}};
  const RunHistory history = run_history(std::vector<Json>{stopped, validated});
  EXPECT_TRUE(std::isnan(history.loss.continuous[0].loss.sum));
  ASSERT_EQ(history.loss.validation.size(), 2U);
  EXPECT_EQ(history.loss.validation[1].loss.mean(), 10.0);
  EXPECT_EQ(history.loss.validation[1].update, 20);
}

TEST(RunHistory, MoreNumbersThanAFigureShowsAreRefusedBeforeTheyFillTheMemory) {
  Json wide = line("a", "continuous", 1, 1.0);
  wide["ranks"] = std::vector<Json>(1'000, wide["ranks"][0]);
  std::int64_t read = 0;
  const MetricsLines endless = [&](const std::function<void(const Json&)>& take) {
    for (read = 0; read < 100'000; ++read) take(wide);
  };
  EXPECT_THROW(run_history(endless), InputError);
  EXPECT_EQ(read, 3'996) << "with 1,001 numbers a line";
}

TEST(RunHistory, LinesOfAnotherFormAreRefused) {
  EXPECT_THROW(run_history(std::vector<Json>{Json{{"a", 1}}}), InputError);
  EXPECT_THROW(run_history(std::vector<Json>{Json(3)}), InputError);
  Json text = line("a", "continuous", 1, 1.0);
  text["update"] = "one";
  EXPECT_THROW(run_history(std::vector<Json>{text}), InputError);
}

TEST(LossDivisor, IsAnIntegerWhereUnitsAreCountedAndElseAWeightAlsoWithoutAFraction) {
  const LossSum counted{6.0, 12};
  const LossSum weighed{6.0, 5, 12.0};
  EXPECT_EQ(divisor_text({0.0, 18'231}), "18,231");
  EXPECT_EQ(divisor_text({0.0, 5, 0.75}), "0.75");
  for (const LossSum& loss : {counted, weighed}) {
    const Json line =
        Json::parse(Json{{"loss_sum", loss.sum}, {"divisor", divisor_to_json(loss)}, {"supervised_tokens", 99}}.dump());
    EXPECT_EQ(loss_from_json(line).mean(), 0.5);
    EXPECT_EQ(loss_from_json(line).weight.has_value(), loss.weight.has_value());
  }
  EXPECT_EQ(loss_from_json({{"loss_sum", 6.0}, {"supervised_tokens", 12}}).count, 12) << "a line of before";
}

}  // namespace
}  // namespace samegrad
