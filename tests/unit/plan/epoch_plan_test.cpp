#include "samegrad/plan/epoch_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

PlanConfig plan_of(std::int64_t updates, std::int64_t epochs, std::int64_t ranks, std::int64_t accumulation,
                   std::int64_t batch) {
  return {.updates = updates,
          .epochs = epochs,
          .virtual_ranks = ranks,
          .accumulation = accumulation,
          .batch_size_per_rank = batch};
}

std::vector<std::int64_t> ids_of(const PlanWindow& window) {
  std::vector<std::int64_t> ids;
  for (const Atom& atom : window.atoms) ids.insert(ids.end(), atom.begin(), atom.end());
  return ids;
}

RC_GTEST_PROP(EpochPlan, TakesEverySampleExactlyOnceAnEpochInWindowsThatNeverCrossOne, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto config = plan_of(0, *rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(1, 4),
                              *rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(1, 6));
  const auto plan = make_epoch_plan(config, *rc::gen::arbitrary<std::int64_t>(), samples);
  std::vector<std::multiset<std::int64_t>> epochs(static_cast<std::size_t>(config.epochs));
  std::int64_t consumed = 0;
  for (std::int64_t update = 1; update <= plan->updates(); ++update) {
    const PlanWindow window = plan->window(update);
    RC_ASSERT(static_cast<std::int64_t>(window.atoms.size()) == config.atoms_per_window());
    bool partial = false;
    for (const Atom& atom : window.atoms) {
      RC_ASSERT(!partial || atom.empty());  // nothing after the first atom that is not full
      RC_ASSERT(static_cast<std::int64_t>(atom.size()) <= config.batch_size_per_rank);
      partial = static_cast<std::int64_t>(atom.size()) < config.batch_size_per_rank;
    }
    const PlanCursor before = plan->cursor(update - 1);
    RC_ASSERT(before.epoch == window.epoch);
    RC_ASSERT(before.samples_consumed == consumed);
    const auto ids = ids_of(window);
    RC_ASSERT(!ids.empty());
    consumed += static_cast<std::int64_t>(ids.size());
    epochs.at(static_cast<std::size_t>(window.epoch)).insert(ids.begin(), ids.end());
  }
  for (const auto& epoch : epochs) {
    RC_ASSERT(static_cast<std::int64_t>(epoch.size()) == samples);
    RC_ASSERT(static_cast<std::int64_t>(std::set<std::int64_t>(epoch.begin(), epoch.end()).size()) == samples);
    RC_ASSERT(*epoch.begin() == 0);
    RC_ASSERT(*epoch.rbegin() == samples - 1);
  }
  RC_ASSERT(plan->cursor(plan->updates()).samples_consumed == config.epochs * samples);
}

TEST(EpochPlan, GivesTheSameWindowsInAnyOrderOfCalls) {
  const auto config = plan_of(30, 0, 2, 2, 3);
  const auto ascending = make_epoch_plan(config, 7, 50);
  std::vector<std::vector<Atom>> expected;
  for (std::int64_t update = 1; update <= 30; ++update) expected.push_back(ascending->window(update).atoms);
  const auto plan = make_epoch_plan(config, 7, 50);
  for (const std::int64_t update : {30, 1, 6, 5, 5, 29, 11, 10, 2}) {
    EXPECT_EQ(plan->window(update).atoms, expected[static_cast<std::size_t>(update - 1)]) << update;
  }
}

TEST(EpochPlan, ShufflesEachEpochAnew) {
  const auto plan = make_epoch_plan(plan_of(3, 0, 1, 1, 100), 7, 100);
  EXPECT_NE(plan->window(1).atoms, plan->window(2).atoms);
  EXPECT_NE(plan->window(2).atoms, plan->window(3).atoms);
}

// One process, accumulation 4, 5 samples: the second window holds one sample in its first atom.
TEST(EpochPlan, LastWindowOfAnEpochHoldsWhatIsLeftInItsFirstAtoms) {
  const auto plan = make_epoch_plan(plan_of(0, 1, 1, 4, 1), 7, 5);
  EXPECT_EQ(plan->updates(), 2);
  const auto atoms = plan->window(2).atoms;
  EXPECT_EQ(atoms[0].size(), 1U);
  for (std::size_t atom = 1; atom < 4; ++atom) EXPECT_TRUE(atoms[atom].empty());
}

TEST(EpochPlan, FewerSamplesThanAtomsIsOnePartialWindow) {
  const auto one = make_epoch_plan(plan_of(0, 1, 4, 1, 8), 7, 1);
  EXPECT_EQ(one->updates(), 1);
  EXPECT_EQ(ids_of(one->window(1)), (std::vector<std::int64_t>{0}));
  const auto three = make_epoch_plan(plan_of(0, 1, 1, 1, 8), 7, 3);
  EXPECT_EQ(three->updates(), 1);
  EXPECT_EQ(ids_of(three->window(1)).size(), 3U);
}

// 10 samples, two ranks, batch 1: update 5 ends epoch 0; what comes next is the first window of epoch 1.
TEST(EpochPlan, CursorAtTheEndOfAnEpochNamesTheNextOnesFirstWindow) {
  const auto plan = make_epoch_plan(plan_of(0, 2, 2, 1, 1), 7, 10);
  EXPECT_EQ(plan->cursor(0), (PlanCursor{0, 0, 0, 0}));
  EXPECT_EQ(plan->cursor(5), (PlanCursor{5, 1, 0, 10}));
  EXPECT_EQ(plan->cursor(7), (PlanCursor{7, 1, 2, 14}));
  EXPECT_EQ(plan->cursor(10), (PlanCursor{10, 2, 0, 20}));
  EXPECT_EQ(plan_cursor_to_json(plan->cursor(7)).dump(),
            R"({"update":7,"epoch":1,"window_in_epoch":2,"samples_consumed":14})");
}

TEST(EpochPlan, DigestChangesWithEverythingThatChangesWindowsAndWithNothingElse) {
  const std::string digest = make_epoch_plan(plan_of(10, 0, 2, 4, 8), 7, 50)->digest();
  EXPECT_EQ(make_epoch_plan(plan_of(20, 0, 2, 4, 8), 7, 50)->digest(), digest);
  EXPECT_NE(make_epoch_plan(plan_of(10, 0, 2, 4, 8), 8, 50)->digest(), digest);
  EXPECT_NE(make_epoch_plan(plan_of(10, 0, 2, 4, 8), 7, 51)->digest(), digest);
  EXPECT_NE(make_epoch_plan(plan_of(10, 0, 4, 2, 8), 7, 50)->digest(), digest);
  EXPECT_NE(make_epoch_plan(plan_of(10, 0, 2, 4, 4), 7, 50)->digest(), digest);
}

TEST(EpochPlan, RefusesNoSamplesAndRunsThatCannotBeCounted) {
  EXPECT_THROW(make_epoch_plan(plan_of(1, 0, 1, 1, 1), 7, 0), InputError);
  EXPECT_THROW(make_epoch_plan(plan_of(1, 0, 1, 1, 1), 7, std::int64_t{1} << 32), InputError);
  EXPECT_THROW(make_epoch_plan(plan_of(0, 0, 1, 1, 1), 7, 5), InputError);
  EXPECT_THROW(make_epoch_plan(plan_of(0, kHuge, 1, 1, 1), 7, 5), InputError);
  EXPECT_THROW(make_epoch_plan(plan_of(kHuge, 0, 1, 1, 2), 7, 5), InputError);
  EXPECT_EQ(ids_of(make_epoch_plan(plan_of(1, 0, 2, 1, kHuge), 7, 5)->window(1)).size(), 5U);
}

TEST(EpochPlan, WindowsOutsideTheRunBreakAnInvariant) {
  const auto plan = make_epoch_plan(plan_of(3, 0, 1, 1, 1), 7, 5);
  EXPECT_THROW(plan->window(0), InvariantError);
  EXPECT_THROW(plan->window(4), InvariantError);
  EXPECT_THROW(plan->cursor(4), InvariantError);
}

}  // namespace
}  // namespace samegrad
