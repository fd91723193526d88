// How long a process that was asked to stop may take for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace samegrad {

/// From a stop signal (launch/worker_signals.h) on, `grace` is left: where this object still lives then, `on_late` is
/// called, once, in a thread of its own, while the rest may hang. One at a time in a process.
class StopDeadline {
 public:
  StopDeadline(std::chrono::milliseconds grace, std::function<void()> on_late);
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

 private:
  void watch();

  std::chrono::milliseconds grace_;
  std::function<void()> on_late_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace samegrad
