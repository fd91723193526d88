// The next window, built by a thread of its own while this one computes.
#pragma once

#include <cstdint>
#include <functional>
#include <future>

#include "samegrad/plan/update_plan.h"
#include "samegrad/train/window_batches.h"

namespace samegrad {

/// All that an update needs of plan and data.
struct BuiltWindow {
  PlanWindow plan;
  WindowBatches batches;
};

/// Holds at most one window ahead. What it has built is nobody's state: a checkpoint's place is that of the windows
/// taken.
class WindowAhead {
 public:
  /// `build` gives the window of an update. One thread at a time calls it, not always the same. It may run for longer
  /// than this object lives (a read that hangs must not keep an error from being told), so it owns what it uses.
  explicit WindowAhead(std::function<BuiltWindow(std::int64_t update)> build) : build_(std::move(build)) {}

  /// Begins to build the window of `update` in a thread that takes no signals; take() must come before the next one.
  /// Where no thread is to be had, nothing happens. Local.
  void start(std::int64_t update);

  /// The window of `update`: the one that was started, waited for, or else built now. Throws what building it threw.
  /// Local.
  BuiltWindow take(std::int64_t update);

 private:
  std::function<BuiltWindow(std::int64_t update)> build_;
  std::int64_t update_ = 0;  // of the window in flight
  std::future<BuiltWindow> in_flight_;
};

}  // namespace samegrad
