// How long this process, or the whole that it waits for, has been stopped as one: by Ctrl-Z in a terminal. No wait for
// another process may count such time (base/deadline.h). Everything here may be called in a signal handler.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace samegrad {
namespace stopped_time {

using Clock = std::chrono::steady_clock;

inline constexpr std::int64_t kRuns = -1;
inline std::atomic<std::int64_t> before_ns{0};     ///< of stops that have ended
inline std::atomic<std::int64_t> since_ns{kRuns};  ///< when the stop that lasts began

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace stopped_time

/// From here on time stands still, until stop_ends(). Local.
inline void stop_begins() {
  std::int64_t runs = stopped_time::kRuns;
  stopped_time::since_ns.compare_exchange_strong(runs, stopped_time::now_ns());
}

/// Nothing where no stop lasts. Local.
inline void stop_ends() {
  const std::int64_t since = stopped_time::since_ns.load();
  if (since == stopped_time::kRuns) return;
  // In this order: who looks in between counts too much for a moment, never too little.
  stopped_time::before_ns += stopped_time::now_ns() - since;
  stopped_time::since_ns = stopped_time::kRuns;
}

/// The monotonic clock without the time of stops. Local.
inline stopped_time::Clock::time_point running_now() {
  for (;;) {
    const std::int64_t since = stopped_time::since_ns.load();
    const std::int64_t before = stopped_time::before_ns.load();
    const std::int64_t now = since == stopped_time::kRuns ? stopped_time::now_ns() : since;
    // A stop may have come in the middle of this.
    if (stopped_time::since_ns.load() == since && stopped_time::before_ns.load() == before) {
      return stopped_time::Clock::time_point{std::chrono::nanoseconds{now - before}};
    }
  }
}

}  // namespace samegrad
