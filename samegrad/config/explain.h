// What one key of the configuration is, for people and for programs.
#pragma once

#include <string>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"

namespace samegrad {

struct Explanation {
  std::string text;  ///< lines, with a final newline
  Json json;         ///< an object, or for a section an array of them
};

/// Explains a key ("plan.updates"), one of its other names ("max_steps"), a name that no field takes
/// ("ddp_bucket_cap_mb"), or each key of a section ("plan"): meaning, value in `config`, default, allowed values, other
/// names, whether it decides bits, and the values that are refused with the reason. Throws InputError for an unknown
/// name, with the nearest known one. Local.
Explanation explain_key(const std::string& key, const RunConfig& config);

}  // namespace samegrad
