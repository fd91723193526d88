// Starts a comm_worker in one of its modes, as `samegrad train --nproc N` starts its workers.
#pragma once

#include <string>

#include "samegrad/launch/launch.h"

namespace samegrad::testing {

inline LaunchOptions worker_options(const std::string& mode, int world_size, const std::string& argument = "") {
  LaunchOptions options;
  options.program = COMM_WORKER;
  options.arguments = {mode, std::to_string(world_size), argument};
  options.processes = world_size;
  options.share_memory = COMM_SHARES_MEMORY;
  return options;
}

inline LaunchResult launched(const std::string& mode, int world_size, const std::string& argument = "") {
  return launch_workers(worker_options(mode, world_size, argument));
}

/// All lines, for messages of failed expectations and for searching.
inline std::string text_of(const LaunchResult& result) {
  std::string text;
  for (const std::string& line : result.lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace samegrad::testing
