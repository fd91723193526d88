#include "samegrad/comm/gloo_watch.h"

#include <utility>

namespace samegrad {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{250};

}  // namespace

GlooWatch::GlooWatch(std::function<bool()> must_end) : must_end_(std::move(must_end)), thread_([this] { run(); }) {}

GlooWatch::~GlooWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool GlooWatch::wait(const Work& work, std::chrono::milliseconds timeout) {
  struct Waiting {
    Waiting(GlooWatch& watch, const Work& work) : watch_(watch) {
      const std::lock_guard<std::mutex> lock(watch_.mutex_);
      watch_.waited_ = work;
      watch_.ended_wait_ = false;
      ++watch_.waits_;
    }
    ~Waiting() {
      const std::lock_guard<std::mutex> lock(watch_.mutex_);
      watch_.waited_.reset();
    }
    GlooWatch& watch_;
  };
  {
    const Waiting waiting(*this, work);
    work->wait(timeout);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return !ended_wait_;
}

void GlooWatch::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  std::uint64_t seen = 0;
  while (!changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; })) {
    const bool lasts = waited_.defined() && waits_ == seen;
    seen = waits_;
    // Under the lock: what it looks at belongs to the rank that waits.
    if (lasts && !ended_wait_ && must_end_()) {
      ended_wait_ = true;
      waited_->abort();
    }
  }
}

}  // namespace samegrad
