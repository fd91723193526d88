#include "samegrad/plan/longest_first.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "samegrad/base/check.h"

namespace samegrad {

std::vector<std::vector<std::int64_t>> longest_first(std::span<const double> costs, std::int64_t places) {
  SAMEGRAD_CHECK_OP(places, >=, 1);
  std::vector<std::int64_t> positions(costs.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, std::ranges::greater(),
                           [&](std::int64_t position) { return costs[static_cast<std::size_t>(position)]; });
  using Place = std::pair<double, std::int64_t>;  // cost so far, index: the least of both comes first
  std::priority_queue<Place, std::vector<Place>, std::greater<>> least;
  for (std::int64_t place = 0; place < places; ++place) least.emplace(0.0, place);
  std::vector<std::vector<std::int64_t>> held(static_cast<std::size_t>(places));
  for (const std::int64_t position : positions) {
    const auto [cost, place] = least.top();
    least.pop();
    held[static_cast<std::size_t>(place)].push_back(position);
    least.emplace(cost + costs[static_cast<std::size_t>(position)], place);
  }
  for (std::vector<std::int64_t>& place : held) std::ranges::sort(place);
  return held;
}

}  // namespace samegrad
