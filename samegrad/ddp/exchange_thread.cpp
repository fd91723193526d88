#include "samegrad/ddp/exchange_thread.h"

#include <utility>

namespace samegrad {

ExchangeThread::ExchangeThread() : thread_([this] { run(); }) {}

ExchangeThread::~ExchangeThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ExchangeThread::submit(std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void ExchangeThread::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ExchangeThread::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return end_ || !jobs_.empty(); });
    if (end_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    if (failure_) {
      changed_.notify_all();
      continue;
    }
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    failure_ = failure;
    changed_.notify_all();
  }
}

}  // namespace samegrad
