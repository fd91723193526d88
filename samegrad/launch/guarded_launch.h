// Three processes in a row that watch each other, so that no worker outlives any two of them: the one that was started,
// a keeper that does nothing else, and the inner one, which does the launcher's work and has the workers as children.
#pragma once

#include <functional>

#include "samegrad/launch/launch_signals.h"
#include "samegrad/launch/launch_summary.h"

namespace samegrad {

/// What the inner process has.
struct GuardedSide {
  const LaunchSignals& signals;
  int guard_fd = -1;  ///< hangs up when the keeper dies: then kill all and leave
};

using GuardedBody = std::function<LaunchResult(const GuardedSide&)>;

/// Runs `body` in the inner process (by fork: call this from a process with one thread), which is a process group of
/// its own and inherits the orphans of its descendants, and returns what it returned. Signals that LaunchSignals reads
/// are passed on to it. Where it dies, or the keeper does, their descendants are killed. Where this process dies, the
/// keeper kills them and calls `clean_up`. Throws what `body` threw, as InputError or RunError. Local.
LaunchResult run_guarded(const GuardedBody& body, const std::function<void()>& clean_up);

}  // namespace samegrad
