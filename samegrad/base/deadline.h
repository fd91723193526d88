// A point in time by which a wait must end. Monotonic clock, without the time in which all was stopped.
#pragma once

#include <algorithm>
#include <chrono>

#include "samegrad/base/stopped_time.h"

namespace samegrad {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : end_(running_now() + from_now) {}

  bool passed() const { return running_now() >= end_; }
  /// Time left, never negative.
  std::chrono::milliseconds left() const {
    return std::max(std::chrono::milliseconds{0},
                    std::chrono::duration_cast<std::chrono::milliseconds>(end_ - running_now()));
  }

 private:
  Clock::time_point end_;
};

}  // namespace samegrad
