// What can still be pinned in a process that nobody pinned before it started.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace samegrad {

/// What could not be pinned, by kPinnedVariables; fixed size, so that ranks can tell each other.
inline constexpr std::size_t kUnpinnedFacts = 3;
using UnpinnedFacts = std::array<bool, kUnpinnedFacts>;

/// Sets those of kPinnedVariables that are not set, and lets ATen compute in one thread. What a person has set stays.
/// Not while other threads read the environment: to be called first in main(). Local.
UnpinnedFacts pin_this_process();

/// What is wrong with fact `index`, and what to do, as part of a line. Local.
std::string unpinned_text(std::size_t index);

}  // namespace samegrad
