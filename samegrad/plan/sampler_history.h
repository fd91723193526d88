// Which samples a virtual rank has consumed so far, as a count and a hash chain: a checkpoint's rank-<i>.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "samegrad/base/json.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The history of one virtual rank after `update` updates. Two equal ones mean the same ids in the same microbatches of
/// the same updates.
struct SamplerHistory {
  std::int64_t virtual_rank = 0;
  std::int64_t update = 0;            ///< updates consumed
  std::int64_t samples_consumed = 0;  ///< by this virtual rank
  std::string digest = std::string(64, '0');

  bool operator==(const SamplerHistory&) const = default;
};

/// Adds the window of update history.update + 1: digest becomes SHA-256(digest + the rank's microbatches as compact
/// JSON, [[ids],[ids]]), samples are counted. `accumulation` atoms of the window are the rank's. Local.
void append_window(SamplerHistory& history, const PlanWindow& window, std::int64_t accumulation);

/// {"virtual_rank","update","samples_consumed","digest"}. Local.
Json sampler_history_to_json(const SamplerHistory& history);

/// The inverse; more members are allowed. Throws CheckError (naming `file`) for one that is missing or of another type,
/// and for a file of another rank than `virtual_rank`. Local.
SamplerHistory sampler_history_from_json(const Json& json, std::int64_t virtual_rank, std::string_view file);

}  // namespace samegrad
