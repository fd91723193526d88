// Whether another process of this host still lives.
#pragma once

#include <cstdint>

namespace samegrad {

/// Start time of process `pid` in clock ticks since boot (/proc/PID/stat, field 22): with the pid it names a process
/// for good, although pids are used again. 0 where /proc does not tell. Local.
std::uint64_t process_start_time(int pid);

/// What `pid` does (/proc/PID/stat, field 3): R computes, S sleeps, D waits for a disk, T is stopped by a signal, t by
/// a debugger, Z has ended. '?' where /proc does not tell. Local.
char process_state(int pid);

/// Whether `pid` is stopped by a signal or a debugger (state T or t). False where /proc does not tell. Local.
bool process_is_stopped(int pid);

/// Watches one process through a pidfd, which a later process with the same pid cannot inherit. Movable.
class ProcessWatch {
 public:
  /// The process `pid` that started at `start_time` (0: not known). Local.
  ProcessWatch(int pid, std::uint64_t start_time);
  ~ProcessWatch();
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ProcessWatch& operator=(ProcessWatch&&) = delete;

  /// True once the process has ended, also while it is a zombie. Never blocks. Local.
  bool ended() const;
  /// Sends it `signal`. False where it has ended, or is another user's. Local.
  bool send(int signal) const;

 private:
  int pid_;
  std::uint64_t start_time_;
  int pidfd_ = -1;  ///< -1: no pidfd to be had; /proc and kill(pid, 0) must do
  bool gone_at_start_ = false;
};

}  // namespace samegrad
