// Fifty random schedules of stops and numbers of processes, each leg by real processes that run `samegrad train`: all
// are the uninterrupted run. With a mistake built in, they are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "samegrad/plan/python_random.h"
#include "tests/multiproc/forked_training.h"

namespace samegrad {
namespace {

constexpr std::int64_t kSeed = 20'260'417;
constexpr std::int64_t kUpdates = 12;
constexpr std::int64_t kMostProcesses = 8;
constexpr int kGroups = 5;  // that can run beside one another
constexpr int kSchedulesOfGroup = 10;

// One to four stops after random updates, and a random number of processes for each leg.
std::vector<ResumeLeg> random_schedule(PythonRandom& random) {
  const auto any_number = [&random] { return 1 + static_cast<std::int64_t>(random.randbelow(kMostProcesses)); };
  std::vector<std::int64_t> stops = random.sample(kUpdates - 1, 1 + static_cast<std::int64_t>(random.randbelow(4)));
  std::ranges::sort(stops);
  std::vector<ResumeLeg> legs;
  for (const std::int64_t stop : stops) legs.push_back({any_number(), stop + 1});
  legs.push_back({any_number(), kUpdates});
  return legs;
}

std::vector<std::vector<ResumeLeg>> schedules_of_group(int group) {
  PythonRandom random(kSeed + group);
  std::vector<std::vector<ResumeLeg>> schedules;
  for (int i = 0; i < kSchedulesOfGroup; ++i) schedules.push_back(random_schedule(random));
  return schedules;
}

class Schedules : public ForkedTraining {
 protected:
  void SetUp() override {
    ForkedTraining::SetUp();
    // Epochs of three updates, the last one a partial window; all that a resume can forget is switched on.
    settings_ = tiny_model();
    const auto add = [this](const Settings& more) { settings_.insert(settings_.end(), more.begin(), more.end()); };
    add(ten_samples());
    add({"plan.epochs=4", "plan.virtual_ranks=2", "plan.accumulation=2", "plan.batch_size_per_rank=1",
         "model.dropout=0.1", "optimizer.kind=adamw", "optimizer.learning_rate=0.01", "optimizer.weight_decay=0.1",
         "optimizer.max_grad_norm=0.5", "schedule.kind=cosine", "schedule.warmup_updates=3"});
    unsetenv("SAMEGRAD_BROKEN");
    reference_ = lines_of({{1, kUpdates}}, settings_);
    ASSERT_EQ(reference_.size(), kUpdates);
  }

  std::optional<RunDivergence> divergence_of(const std::vector<ResumeLeg>& legs) {
    return first_divergence(reference_, lines_of(legs, settings_), kUpdates);
  }

 private:
  Settings settings_;
  UpdateLines reference_;
};

class RandomSchedules : public Schedules, public testing::WithParamInterface<int> {};

TEST_P(RandomSchedules, AreTheUninterruptedRunAtEveryUpdate) {
  std::cout << "schedules drawn by random.Random(" << kSeed + GetParam() << ")\n";
  for (const std::vector<ResumeLeg>& legs : schedules_of_group(GetParam())) {
    EXPECT_EQ(divergence_of(legs), std::nullopt) << schedule_text({"", legs});
  }
}

INSTANTIATE_TEST_SUITE_P(Group, RandomSchedules, testing::Range(0, kGroups));

TEST(DrawnSchedules, StopAfterEachUpdateAndUseEachNumberOfProcesses) {
  std::set<std::int64_t> numbers;
  std::set<std::int64_t> ends;
  for (int group = 0; group < kGroups; ++group) {
    for (const std::vector<ResumeLeg>& legs : schedules_of_group(group)) {
      for (const ResumeLeg& leg : legs) {
        numbers.insert(leg.processes);
        ends.insert(leg.last_update);
      }
    }
  }
  EXPECT_EQ(numbers.size(), kMostProcesses);
  EXPECT_EQ(ends.size(), kUpdates);
}

class BrokenSchedules : public Schedules, public testing::WithParamInterface<std::string> {};

TEST_P(BrokenSchedules, AreNotTheUninterruptedRun) {
  const std::vector<ResumeLeg> legs = schedules_of_group(0).front();
  setenv("SAMEGRAD_BROKEN", GetParam().c_str(), 1);
  const std::optional<RunDivergence> found = divergence_of(legs);
  unsetenv("SAMEGRAD_BROKEN");
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(std::ranges::find(found->fields, "hash_chain"), found->fields.end());
}

INSTANTIATE_TEST_SUITE_P(Each, BrokenSchedules,
                         testing::Values("optimizer-state-not-restored", "data-order-restarted", "randomness-restarted",
                                         "generator-carried"));

}  // namespace
}  // namespace samegrad
