// Keeps SIGPIPE from ending the process while others' code writes to sockets that may be closed.
#pragma once

#include <csignal>

namespace samegrad {

/// While it lives, SIGPIPE is blocked in this thread, and in threads that are started meanwhile for as long as these
/// live: writes fail with EPIPE instead, which PyTorch and Gloo report. A SIGPIPE that came is dropped at the end, so
/// the process's own handling of the signal is not touched.
class BlockedPipeSignal {
 public:
  BlockedPipeSignal();
  ~BlockedPipeSignal();
  BlockedPipeSignal(const BlockedPipeSignal&) = delete;
  BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;

 private:
  sigset_t mask_before_{};
  bool pending_before_ = false;
};

}  // namespace samegrad
