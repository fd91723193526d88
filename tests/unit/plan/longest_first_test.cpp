#include "samegrad/plan/longest_first.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace samegrad {
namespace {

using Spread = std::vector<std::vector<std::int64_t>>;

std::vector<double> place_costs(const Spread& spread, const std::vector<double>& costs) {
  std::vector<double> sums;
  for (const auto& place : spread) {
    double& sum = sums.emplace_back(0.0);
    for (const std::int64_t position : place) sum += costs[static_cast<std::size_t>(position)];
  }
  return sums;
}

double largest_place(const Spread& spread, const std::vector<double>& costs) {
  return std::ranges::max(place_costs(spread, costs));
}

double mean_place(const std::vector<double>& costs, std::int64_t places) {
  return std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(places);
}

/// What samples that stay where they were drawn, or are dealt out in turn, would give.
Spread in_turn(std::size_t positions, std::int64_t places) {
  Spread spread(static_cast<std::size_t>(places));
  for (std::size_t i = 0; i < positions; ++i) {
    spread[i % spread.size()].push_back(static_cast<std::int64_t>(i));
  }
  return spread;
}

/// The least cost of the fullest place over all spreads.
double best_spread(const std::vector<double>& costs, std::int64_t places) {
  std::vector<double> sums(static_cast<std::size_t>(places), 0.0);
  const std::function<double(std::size_t)> least = [&](std::size_t next) {
    if (next == costs.size()) return std::ranges::max(sums);
    double best = std::accumulate(costs.begin(), costs.end(), 0.0);
    for (double& sum : sums) {
      const double before = sum;
      sum += costs[next];
      best = std::min(best, least(next + 1));
      sum = before;
    }
    return best;
  };
  return least(0);
}

/// Whole numbers, so that sums are exact in any order; many are equal.
std::vector<double> any_costs(int least, int most) {
  std::vector<double> costs(static_cast<std::size_t>(*rc::gen::inRange(least, most)));
  const int range = *rc::gen::element(3, 40, 100'000);
  for (double& cost : costs) cost = *rc::gen::inRange(0, range);
  return costs;
}

RC_GTEST_PROP(LongestFirst, GivesEveryPositionOnceAscendingAndLeavesEmptyPlacesLast, ()) {
  const std::vector<double> costs = any_costs(0, 80);
  const auto places = *rc::gen::inRange<std::int64_t>(1, 20);
  const Spread spread = longest_first(costs, places);
  RC_ASSERT(static_cast<std::int64_t>(spread.size()) == places);
  std::vector<std::int64_t> seen;
  bool empty_before = false;
  for (const auto& place : spread) {
    RC_ASSERT(std::ranges::is_sorted(place));
    RC_ASSERT(!empty_before || place.empty());
    empty_before = place.empty();
    seen.insert(seen.end(), place.begin(), place.end());
  }
  std::ranges::sort(seen);
  std::vector<std::int64_t> expected(costs.size());
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(seen == expected);
}

// The place that is fullest in the end was the emptiest before its last position came, so it stood at the mean or
// below.
RC_GTEST_PROP(LongestFirst, FullestPlaceIsAboveTheMeanByLessThanOnePosition, ()) {
  const std::vector<double> costs = any_costs(1, 80);
  const auto places = *rc::gen::inRange<std::int64_t>(1, 20);
  const double spare = 1.0 - 1.0 / static_cast<double>(places);
  RC_ASSERT(largest_place(longest_first(costs, places), costs) <=
            (mean_place(costs, places) + spare * std::ranges::max(costs)) * (1 + 1e-12));
}

RC_GTEST_PROP(LongestFirst, FullestPlaceIsWithinFourThirdsOfTheBestSpreadOfAll, ()) {
  const std::vector<double> costs = any_costs(1, 9);
  const auto places = *rc::gen::inRange<std::int64_t>(1, 5);
  const double bound = 4.0 / 3.0 - 1.0 / (3.0 * static_cast<double>(places));
  RC_ASSERT(largest_place(longest_first(costs, places), costs) <= bound * best_spread(costs, places) * (1 + 1e-12));
}

// Where a place holds three or more on average, and none is large, max(mean, largest) is near the best spread.
RC_GTEST_PROP(LongestFirst, FullestPlaceIsWithinFourThirdsOfTheMeanWhereNoPositionIsLarge, ()) {
  const auto places = *rc::gen::inRange<std::int64_t>(1, 9);
  const std::vector<double> costs = any_costs(static_cast<int>(3 * places), static_cast<int>(3 * places + 60));
  const double mean = mean_place(costs, places);
  RC_PRE(mean > 0.0 && std::ranges::max(costs) <= mean / 3.0);
  RC_ASSERT(largest_place(longest_first(costs, places), costs) <= 4.0 / 3.0 * mean * (1 + 1e-12));
}

// Short and long in turn over two places: all long ones meet in one place, 100 against 4.
TEST(LongestFirst, ControlDealingOutInTurnIsFarAboveTheBound) {
  std::vector<double> costs;
  for (int pair = 0; pair < 4; ++pair) costs.insert(costs.end(), {1.0, 25.0});
  const double bound = 4.0 / 3.0 * mean_place(costs, 2);
  EXPECT_GT(largest_place(in_turn(costs.size(), 2), costs), bound);
  EXPECT_EQ(largest_place(longest_first(costs, 2), costs), 52.0);
}

TEST(LongestFirst, TiesGoToTheFirstPositionAndTheFirstPlace) {
  EXPECT_EQ(longest_first(std::vector<double>{5, 5, 5}, 2), (Spread{{0, 2}, {1}}));
  EXPECT_EQ(longest_first(std::vector<double>{1, 7, 1, 7, 7}, 3), (Spread{{0, 1}, {2, 3}, {4}}));
}

// 9, 8 and 7 open the places; 6 goes to the 7, 5 to the 8, 4 to the 9: 13 each.
TEST(LongestFirst, SpreadsTheTextbookCaseEvenly) {
  EXPECT_EQ(longest_first(std::vector<double>{4, 5, 6, 7, 8, 9}, 3), (Spread{{0, 5}, {1, 4}, {2, 3}}));
}

TEST(LongestFirst, WhatCostsNothingStaysTogetherAndNothingMakesAllEmpty) {
  EXPECT_EQ(longest_first(std::vector<double>{0, 3, 0}, 4), (Spread{{1}, {0, 2}, {}, {}}));
  EXPECT_EQ(longest_first(std::vector<double>{}, 2), (Spread{{}, {}}));
}

}  // namespace
}  // namespace samegrad
