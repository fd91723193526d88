// The signals that a launcher waits for, as something that can be read.
#pragma once

#include <csignal>
#include <vector>

namespace samegrad {

/// While it lives, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP and SIGCONT of this thread's process are not
/// delivered but read here, also by a child that was forked without exec. Those that the process was started to ignore
/// stay ignored, but for SIGCHLD. One at a time, in a process whose other threads block these signals too. The old
/// state comes back with the destructor.
class LaunchSignals {
 public:
  /// Throws RunError. Local.
  LaunchSignals();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  /// Can be read when a signal is there.
  int fd() const { return fd_; }
  /// The signals that arrived; does not wait. Local.
  std::vector<int> take() const;
  /// The signal mask from before, which a child needs.
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  int fd_ = -1;
  sigset_t mask_before_{};
  struct sigaction child_action_before_ {};
};

}  // namespace samegrad
