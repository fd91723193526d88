// A point in time by which a wait must end. Monotonic clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace samegrad {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : end_(Clock::now() + from_now) {}

  bool passed() const { return Clock::now() >= end_; }
  /// Time left, never negative.
  std::chrono::milliseconds left() const {
    return std::max(std::chrono::milliseconds{0},
                    std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()));
  }

 private:
  Clock::time_point end_;
};

}  // namespace samegrad
