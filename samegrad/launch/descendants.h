// All processes that a process started, and those that these started, also where they left their group and session and
// their own parents are gone: a child subreaper stays the ancestor of all of them.
#pragma once

#include <chrono>
#include <span>
#include <vector>

namespace samegrad {

/// While it lives, this process inherits the orphans among its descendants (PR_SET_CHILD_SUBREAPER).
class OrphanKeeper {
 public:
  OrphanKeeper();
  ~OrphanKeeper();
  OrphanKeeper(const OrphanKeeper&) = delete;
  OrphanKeeper& operator=(const OrphanKeeper&) = delete;

 private:
  int before_ = 0;
};

/// Whether this process has children, zombies included. Local.
bool has_children();

/// Pids of this process's children, by /proc; zombies too. Local.
std::vector<int> children_of_this_process();

/// Sends `signal` to all descendants of this process but `except` and theirs. Local.
void signal_descendants(int signal, std::span<const int> except = {});

/// Kills all descendants of this process but `except` and theirs, and reaps those that are its children, until none is
/// left. For `grace` it only waits and reaps, where they are about to end. False where some still are there after
/// `at_most`: the system does not let them end. Local.
bool kill_descendants(std::chrono::milliseconds at_most, std::span<const int> except = {},
                      std::chrono::milliseconds grace = {});

}  // namespace samegrad
