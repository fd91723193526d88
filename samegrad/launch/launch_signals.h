// The signals that a launcher waits for, as something that can be read.
#pragma once

#include <chrono>
#include <csignal>
#include <vector>

namespace samegrad {

/// While it lives, SIGCHLD, SIGINT, SIGTERM and SIGUSR1 of this thread's process are not delivered but read here. All
/// but the first stay ignored where the process was started to ignore them. One at a time, in a process whose other
/// threads block these signals too. The old state comes back with the destructor.
class LaunchSignals {
 public:
  /// Throws RunError. Local.
  LaunchSignals();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  /// The signals that arrived; waits at most `at_most` for the first, for ever where it is negative. Local.
  std::vector<int> wait(std::chrono::milliseconds at_most) const;
  /// The signal mask from before, which a child needs.
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  int fd_ = -1;
  sigset_t mask_before_{};
  struct sigaction child_action_before_ {};
};

}  // namespace samegrad
