// Around calls into PyTorch's c10d: what it would do to the process and to the person's screen.
#pragma once

#include "samegrad/comm/blocked_pipe_signal.h"

namespace samegrad {

/// While it lives, a socket that is closed at the other end raises no SIGPIPE in this thread, and c10d's warnings,
/// which bring their C++ stacks, are not shown: what it throws becomes one line of ours. Where TORCH_CPP_LOG_LEVEL is
/// set, they are. Not for two threads at once.
class C10dGuard {
 public:
  C10dGuard();
  ~C10dGuard();
  C10dGuard(const C10dGuard&) = delete;
  C10dGuard& operator=(const C10dGuard&) = delete;

 private:
  BlockedPipeSignal no_signal_;
  int log_level_before_;
};

}  // namespace samegrad
