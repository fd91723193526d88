// Spreading work of known cost over equal places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace samegrad {

/// Longest processing time first: takes positions 0..costs.size()-1 by cost, the largest first and equal ones by
/// position, and gives each to the place with the least cost so far, the first of equal ones. A place may hold any
/// number. Returns the positions of each place, ascending; where there are fewer positions than places, or the rest
/// costs nothing, the places left empty are the last. Costs are at least 0 and finite. The fullest place costs at most
/// 4/3 of what any spread can reach. Local.
std::vector<std::vector<std::int64_t>> longest_first(std::span<const double> costs, std::int64_t places);

}  // namespace samegrad
