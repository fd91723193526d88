// How the ranks of a save or a load keep together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "samegrad/comm/world.h"

namespace samegrad::checkpoint {

/// Runs `action` and agrees on its failure: where it throws on any rank, every rank throws the error of the lowest one.
/// Collective.
void together(const World& world, std::int64_t update, const std::function<void()>& action);

/// Rank 0's text, for all. Collective.
std::string text_of_rank_0(const World& world, std::int64_t update, const std::string& mine);

/// Every rank's text, in rank order. Collective.
std::vector<std::string> texts_of_all(const World& world, std::int64_t update, const std::string& mine);

}  // namespace samegrad::checkpoint
