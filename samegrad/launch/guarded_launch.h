// Two processes that watch each other, so that no worker outlives either: the one that was started, and one in between
// it and the workers, which does the launcher's work.
#pragma once

#include <functional>

#include "samegrad/launch/launch_signals.h"
#include "samegrad/launch/launch_summary.h"

namespace samegrad {

/// What the process in between has.
struct GuardedSide {
  const LaunchSignals& signals;
  int guard_fd = -1;  ///< hangs up when the process that was started dies: then kill all and leave
};

/// Runs `body` in a child process (a fork: call it from a process with one thread), which is a process group of its own
/// and inherits the orphans of its descendants, and returns what it returned. Signals that LaunchSignals reads are
/// passed on to it. Where it dies, its descendants are killed. Throws what `body` threw, as InputError or RunError.
/// Local.
LaunchResult run_guarded(const std::function<LaunchResult(const GuardedSide&)>& body);

}  // namespace samegrad
