#include "samegrad/report/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "samegrad/report/display_width.h"

namespace samegrad {
namespace {

RunHeader header() {
  return {.run_id = "r1",
          .action = "train, stop at update 50",
          .model = "encoder, 2 layers",
          .parameters = 282628,
          .data = "lesson",
          .optimizer = "sgd, learning rate 0.1",
          .first_update = 1,
          .last_update = 50,
          .total_updates = 100,
          .atoms = 4,
          .samples_per_atom = 8,
          .cost = {.atoms = 1.5, .ranks = 1.25},
          .first_window_tokens = 2312,
          .world_size = 2,
          .transport = "shm",
          .places = {{"metrics", "outputs/metrics.jsonl"}}};
}

TEST(Progress, HeaderSaysEverythingThatWillHappen) {
  const std::string text = header_text(header(), {});
  for (const char* part : {"r1", "train, stop at update 50", "encoder, 2 layers", "282,628", "lesson", "1 to 50 of 100",
                           "4 atoms of 8 samples;", "largest atom 1.50 x the mean", "2,312 supervised tokens",
                           "sgd, learning rate 0.1", "2 (shm)", "cpu", "outputs/metrics.jsonl"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Progress, HeaderSaysThatAtomsAreBalanced) {
  RunHeader balanced = header();
  balanced.balanced = true;
  EXPECT_NE(header_text(balanced, {}).find("4 atoms of 8 samples on average, balanced by cost;"), std::string::npos);
}

TEST(Progress, HeaderStaysWithin100Cells) {
  RunHeader wide = header();
  wide.model = std::string(90, 'm') + " " + std::string(90, 'n');
  std::istringstream in(header_text(wide, {}));
  for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), 100);
}

TEST(Progress, ColourIsOnlyWhereAsked) {
  EXPECT_EQ(header_text(header(), {.colour = false}).find('\x1b'), std::string::npos);
  EXPECT_NE(header_text(header(), {.colour = true}).find("\x1b[1m"), std::string::npos);
}

TEST(Progress, LineShowsTheGlobalMeanOfSumOverCount) {
  const std::string line = progress_line({.update = 7,
                                          .last_update = 100,
                                          .loss = {120.0, 48},
                                          .gradient_norm = 0.4127,
                                          .learning_rate = 0.1,
                                          .tokens_per_second = 23123.4,
                                          .seconds_left = 75.0});
  EXPECT_EQ(line, "update   7/100  loss 2.50000  norm 0.4127  lr 0.1  23,123 tok/s  1 min 15 s left");
}

TEST(Progress, LineOfASkippedWindowHasNoLoss) {
  const std::string line = progress_line({.update = 7, .last_update = 9, .stepped = false});
  EXPECT_NE(line.find("skipped"), std::string::npos);
  EXPECT_EQ(line.find("nan"), std::string::npos);
}

TEST(Progress, LineStaysWithin100CellsForLargeRuns) {
  const std::string line = progress_line({.update = 999'999,
                                          .last_update = 1'000'000,
                                          .loss = {123456.0, 1000},
                                          .gradient_norm = 1e-12,
                                          .learning_rate = 3.16227766e-5,
                                          .tokens_per_second = 12'345'678.0,
                                          .seconds_left = 360'000.0});
  EXPECT_LE(display_width(line), 100) << line;
}

TEST(Progress, ANonFiniteLossIsShown) {
  EXPECT_NE(progress_line({.update = 1, .last_update = 2, .loss = {std::nan(""), 5}}).find("loss nan"),
            std::string::npos);
}

TEST(Progress, LinesAreDueAtTheFirstTheLastAndEveryNth) {
  std::vector<std::int64_t> due;
  for (std::int64_t update = 51; update <= 77; ++update) {
    if (progress_line_due(update, 51, 77, 10)) due.push_back(update);
  }
  EXPECT_EQ(due, (std::vector<std::int64_t>{51, 60, 70, 77}));
  EXPECT_FALSE(progress_line_due(60, 51, 77, 0));
  EXPECT_TRUE(progress_line_due(77, 51, 77, 0));
}

TEST(Progress, RankTableGivesShares) {
  const std::vector<RankWork> ranks{{12, 1.0, 0.5, 0.25}, {36, 1.5, 0.0, 0.25}};
  const std::string text = rank_work_table(ranks, {});
  EXPECT_NE(text.find("25.0 %"), std::string::npos);
  EXPECT_NE(text.find("75.0 %"), std::string::npos);
  EXPECT_NE(text.find("0.50"), std::string::npos);
}

TEST(Progress, RankTableOfNothingHasNoNan) {
  EXPECT_EQ(rank_work_table(std::vector<RankWork>(2), {}).find("nan"), std::string::npos);
}

TEST(Progress, SummaryOfNothingDoneSaysSo) {
  const std::string text =
      summary_text({.outcome = "nothing to do", .first_update = 101, .update = 100, .total_updates = 100}, {});
  EXPECT_NE(text.find("already at update 100 of 100"), std::string::npos);
}

TEST(Progress, SummaryCountsSkippedWindowsAndNamesPlaces) {
  const std::string text = summary_text({.outcome = "stopped at update 50",
                                         .first_update = 1,
                                         .update = 50,
                                         .total_updates = 100,
                                         .skipped_windows = 2,
                                         .first_loss = {139.0, 100},
                                         .last_loss = {131.0, 100},
                                         .supervised_tokens = 5000,
                                         .seconds = 2.0,
                                         .places = {{"checkpoint", "artifacts/checkpoints/step-0050"}},
                                         .next = "samegrad train --resume latest --run " + std::string(200, 'x')},
                                        {});
  for (const char* part : {"stopped at update 50", "1 to 50 of 100", "1.39000 -> 1.31000", "2,500 a second",
                           "2 windows", "artifacts/checkpoints/step-0050"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_TRUE(text.ends_with("\nnext: samegrad train --resume latest --run " + std::string(200, 'x') + "\n"));
}

}  // namespace
}  // namespace samegrad
