#include "samegrad/plan/lesson_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "samegrad/base/error.h"
#include "tests/unit/plan/length_source.h"

namespace samegrad {
namespace {

std::vector<std::int64_t> ids(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::unique_ptr<UpdatePlan> lesson(const PlanConfig& plan, std::int64_t seed = 42) {
  return make_lesson_plan(plan, seed, ids(0, 40), ids(100, 40));
}

/// The message of the InputError that `make` throws.
template <typename F>
std::string refusal(const F& make) {
  try {
    make();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LessonPlan, GivesShortSamplesToVirtualRank0AndLongOnesToVirtualRank1WithoutRepeats) {
  const auto plan = lesson({});
  for (std::int64_t update = 1; update <= 100; ++update) {
    const PlanWindow window = plan->window(update);
    EXPECT_EQ(window.update, update);
    EXPECT_EQ(window.epoch, 0);
    ASSERT_EQ(window.atoms.size(), 4U);
    std::set<std::int64_t> seen;
    for (std::size_t atom = 0; atom < 4; ++atom) {
      EXPECT_EQ(window.atoms[atom].size(), 8U);
      for (const std::int64_t id : window.atoms[atom]) {
        EXPECT_EQ(id >= 100, atom >= 2);
        seen.insert(id);
      }
    }
    EXPECT_EQ(seen.size(), 32U);
  }
}

TEST(LessonPlan, GivesTheSameWindowsInAnyOrderOfCalls) {
  const auto ascending = lesson({});
  std::vector<std::vector<Atom>> expected;
  for (std::int64_t update = 1; update <= 100; ++update) expected.push_back(ascending->window(update).atoms);
  const auto plan = lesson({});
  for (const std::int64_t update : {50, 50, 3, 100, 1, 2, 99, 51}) {
    EXPECT_EQ(plan->window(update).atoms, expected[static_cast<std::size_t>(update - 1)]) << update;
  }
}

TEST(LessonPlan, SplitsTheDataAtTheConfiguredLength) {
  RunConfig config;
  config.plan.accumulation = 1;
  config.plan.batch_size_per_rank = 2;
  const auto plan = make_update_plan(config, LengthSource({64, 65, 128, 16}));
  const auto atoms = plan->window(1).atoms;
  EXPECT_EQ(std::set<std::int64_t>(atoms[0].begin(), atoms[0].end()), (std::set<std::int64_t>{0, 3}));
  EXPECT_EQ(std::set<std::int64_t>(atoms[1].begin(), atoms[1].end()), (std::set<std::int64_t>{1, 2}));
}

TEST(LessonPlan, CursorCountsWhatTheWindowsHold) {
  const auto plan = lesson({});
  EXPECT_EQ(plan->cursor(0), (PlanCursor{0, 0, 0, 0}));
  EXPECT_EQ(plan->cursor(50), (PlanCursor{50, 0, 50, 1600}));
  EXPECT_EQ(plan->cursor(100), (PlanCursor{100, 0, 100, 3200}));
}

TEST(LessonPlan, DigestChangesWithEverythingThatChangesWindowsAndWithNothingElse) {
  const std::string digest = lesson({})->digest();
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(lesson({.updates = 200})->digest(), digest);
  EXPECT_NE(lesson({}, 43)->digest(), digest);
  EXPECT_NE(lesson({.accumulation = 1})->digest(), digest);
  EXPECT_NE(lesson({.batch_size_per_rank = 4})->digest(), digest);
  EXPECT_NE(make_lesson_plan({}, 42, ids(0, 40), ids(101, 40))->digest(), digest);
  EXPECT_NE(make_lesson_plan({}, 42, ids(0, 39), ids(100, 40))->digest(), digest);
}

TEST(LessonPlan, RefusesWhatItCannotFill) {
  EXPECT_NE(refusal([] { lesson({.virtual_ranks = 3}); }).find("plan.virtual_ranks: 3 given"), std::string::npos);
  EXPECT_NE(refusal([] { lesson({.updates = 0, .epochs = 2}); }).find("plan.updates: 0 given"), std::string::npos);
  EXPECT_NE(refusal([] { lesson({.batch_size_per_rank = 21}); }).find("pool of short samples: 40 samples"),
            std::string::npos);
  EXPECT_NE(refusal([] { make_lesson_plan({}, 1, ids(0, 16), ids(16, 15)); }).find("pool of long samples: 15"),
            std::string::npos);
  EXPECT_NE(refusal([] { lesson({.updates = std::numeric_limits<std::int64_t>::max()}); }).find("can be counted"),
            std::string::npos);
  EXPECT_NO_THROW(make_lesson_plan({}, 1, ids(0, 16), ids(16, 16)));
}

TEST(PlanJson, HasTheWholePlanUpToTheGivenNumberOfIds) {
  RunConfig config;
  config.plan.updates = 3;
  const auto plan = lesson(config.plan);
  const Json json = plan_to_json(*plan, config, 96);
  EXPECT_EQ(json["rule"], "lesson-two-pools-1");
  EXPECT_EQ(json["digest"], plan->digest());
  EXPECT_EQ(json["updates"], 3);
  ASSERT_EQ(json["plan"].size(), 3U);
  EXPECT_EQ(json["plan"][1][1][0], plan->window(2).atoms[2]);
  EXPECT_TRUE(plan_to_json(*plan, config, 95)["plan"].is_null());
}

TEST(MakeUpdatePlan, RefusesATaskThatIsNone) {
  RunConfig config;
  config.data.task = "images";
  EXPECT_NE(refusal([&] { make_update_plan(config, LengthSource({1})); }).find("'images' given"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
