// One start of all workers, from the first fork to the end of the last process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/launch/guarded_launch.h"
#include "samegrad/launch/launch.h"
#include "samegrad/launch/launch_summary.h"
#include "samegrad/launch/restart_policy.h"

namespace samegrad {

struct AttemptStart {
  int attempt = 0;  ///< 0, 1, ...
  int processes = 1;
  std::vector<std::string> arguments;
  std::vector<std::string> news;  ///< said first: what became of the attempt before
  std::filesystem::path folder;   ///< private to the launch; where the workers leave their records
};

struct AttemptResult {
  LaunchResult result;
  AttemptEnd end;
};

/// Runs in the process of `side`: where the keeper dies, it kills all, removes `start.folder`'s parent, and does not
/// return. Errors as launch_workers. Local.
AttemptResult run_attempt(const LaunchOptions& options, const AttemptStart& start, const GuardedSide& side);

}  // namespace samegrad
