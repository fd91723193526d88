#include "samegrad/base/blocked_signals.h"

#include <pthread.h>

#include <initializer_list>

namespace samegrad {

BlockedSignals::BlockedSignals() {
  sigset_t most;
  sigfillset(&most);
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGSYS, SIGTRAP}) sigdelset(&most, own);
  pthread_sigmask(SIG_BLOCK, &most, &before_);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace samegrad
