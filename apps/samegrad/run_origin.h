// Where the replay of a run can start, from what the run left in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

struct RunOrigin {
  RunConfig config;                      ///< of the process that made the next update
  Json dispatch;                         ///< of the same (comm/dispatch.h); null where it is not recorded
  Json data_lock;                        ///< of a checkpoint of the run; null where there is none
  std::optional<Checkpoint> checkpoint;  ///< to start from; none: the initial weights
  std::vector<std::string> notes;        ///< damaged checkpoints that were passed over
};

/// For a replay that ends after `update`, what is needed to make the next one: to start from, the newest complete
/// checkpoint of run `run_id` at or before `update`; config and dispatch from the oldest complete one after it, else
/// from outputs/run.json, else from the first. Nothing that is read is believed before it is verified. Throws
/// InputError (stage "bisect") where none of these is there, or the config in them is not valid. Local.
RunOrigin find_origin(const RunPaths& paths, const std::string& run_id, std::int64_t update);

}  // namespace samegrad
