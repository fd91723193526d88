#include "samegrad/comm/blocked_pipe_signal.h"

#include <ctime>

namespace samegrad {
namespace {

sigset_t only_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool is_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

BlockedPipeSignal::BlockedPipeSignal() : pending_before_(is_pending()) {
  const sigset_t set = only_pipe();
  pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
}

BlockedPipeSignal::~BlockedPipeSignal() {
  if (!pending_before_ && is_pending()) {
    const sigset_t set = only_pipe();
    const timespec now{};
    sigtimedwait(&set, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace samegrad
