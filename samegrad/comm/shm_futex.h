// A rank that waits sleeps on a word in shared memory, which the rank that it waits for changes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

#include "samegrad/base/allowed_cores.h"

namespace samegrad {

inline void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Returns when woken, after `at_most`, when interrupted, or at once where `word` is no longer `while_equal`: the
/// caller looks again in every case. Local.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t while_equal,
                       std::chrono::milliseconds at_most) {
  const timespec time{at_most.count() / 1000, at_most.count() % 1000 * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, while_equal, &time, nullptr, 0);
}

/// How often to look before sleeping, at most. Spinning takes the core from the rank one waits for, unless each has its
/// own. Local.
inline int spins_for(int ranks) {
  // About 100 microseconds on Intel, less elsewhere: what a sleep and its wake cost in a virtual machine. After shorter
  // ones both ranks kept sending each other to sleep (docs/performance.md).
  constexpr int kSpins = 2'000;
  return ranks <= allowed_cores() ? kSpins : 0;
}

}  // namespace samegrad
