// One short text that stands for all updates of a run so far: two runs with the same link at an update saw the same
// samples, had the same gradients and the same parameters at it and at every one before.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "samegrad/plan/sampler_history.h"

namespace samegrad {

/// The link before the first update.
inline constexpr std::string_view kFirstLink = "00000000000000000000000000000000";

/// The next link: XXH3-128 (32 hexadecimal digits) of the texts `previous`, each virtual rank's history digest,
/// `gradient_hash` ("" where no gradient was made) and `parameters_hash`, each ended by a newline. Local.
std::string next_link(std::string_view previous, std::span<const SamplerHistory> histories,
                      std::string_view gradient_hash, std::string_view parameters_hash);

}  // namespace samegrad
