// For threads that are to handle no signals.
#pragma once

#include <csignal>

namespace samegrad {

/// While it lives, the calling thread takes no signals, and a thread that it starts meanwhile never takes one: they are
/// for the thread that trains. Only those get through that a thread brings upon itself (SIGBUS of a file that was cut,
/// base/cut_file.h; SIGSEGV, SIGFPE, SIGILL, SIGSYS, SIGTRAP): where they are blocked, the process ends without their
/// handler.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace samegrad
