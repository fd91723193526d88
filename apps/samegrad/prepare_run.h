// What a run needs on disk before its first update: data, data lock, plan, initial weights. Torch-free, so that the
// front and rank 0 of a training use the same code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/data/prepare_data.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

struct OpenedRun {
  DataSets data;
  std::shared_ptr<const UpdatePlan> plan;
  std::string digest;  ///< of config, plan and data lock: what ranks agree on before each window
};

/// Writes what is missing or was made from another config; leaves the rest. Returns what it wrote, for a person. Throws
/// InputError; nothing is left half written. `accept`, if any, is given the run before the first file is put in its
/// place: what it throws leaves the folder as it was. Local.
std::string prepare_run(const RunConfig& config, const RunPaths& paths, PrepareOptions options = {},
                        const std::function<void(OpenedRun&)>& accept = {});

/// Opens what prepare_run() left: data and plan. Throws InputError. Local.
OpenedRun open_run(const RunConfig& config, const RunPaths& paths);

}  // namespace samegrad
