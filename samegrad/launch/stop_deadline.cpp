#include "samegrad/launch/stop_deadline.h"

#include <utility>

#include "samegrad/launch/worker_signals.h"

namespace samegrad {

StopDeadline::StopDeadline(std::chrono::milliseconds grace, std::function<void()> on_late)
    : grace_(grace), on_late_(std::move(on_late)), thread_([this] { watch(); }) {}

StopDeadline::~StopDeadline() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_one();
  end_wait_for_stop_signal();
  thread_.join();
}

void StopDeadline::watch() {
  wait_for_stop_signal();
  std::unique_lock<std::mutex> lock(mutex_);
  if (!done_changed_.wait_for(lock, grace_, [this] { return done_; })) on_late_();
}

}  // namespace samegrad
