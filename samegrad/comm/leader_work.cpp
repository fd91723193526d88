#include "samegrad/comm/leader_work.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenSigns{1'000};
/// Of the time, that a work which goes on uses the processor at least: it may wait for a slow disk.
constexpr std::int64_t kLeastShare = 1'000;

/// Rank 0's word whether its work goes on. Collective.
bool share_whether_it_works(Communicator& comm, const CallLabel& label, bool works) {
  std::int32_t shared = works ? 1 : 0;
  comm.broadcast(std::as_writable_bytes(std::span(&shared, 1)), 0, label);
  return shared != 0;
}

std::int64_t processor_ns(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

clockid_t processor_clock_of_this_thread() {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  SAMEGRAD_CHECK_OP(pthread_getcpuclockid(pthread_self(), &clock), ==, 0);
  return clock;
}

/// While it lives, rank 0's other thread tells the others that the work goes on: while its thread uses the processor,
/// for one that hangs in a file or a lock must not be waited for without end.
class SignsOfLife {
 public:
  SignsOfLife(Communicator& comm, const CallLabel& label) : thread_([this, &comm, label] { give(comm, label); }) {}
  ~SignsOfLife() { end(); }
  SignsOfLife(const SignsOfLife&) = delete;
  SignsOfLife& operator=(const SignsOfLife&) = delete;

  /// Throws what a sign threw.
  void end_or_throw() {
    end();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void give(Communicator& comm, const CallLabel& label) {
    const milliseconds pause = std::min(kBetweenSigns, label.timeout / 4);
    const std::int64_t least_ns = std::chrono::nanoseconds(pause).count() / kLeastShare;
    std::int64_t used_ns = processor_ns(work_clock_);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_changed_.wait_for(lock, pause, [this] { return ended_; })) {
      const std::int64_t before_ns = std::exchange(used_ns, processor_ns(work_clock_));
      if (used_ns - before_ns < least_ns) continue;
      lock.unlock();
      try {
        share_whether_it_works(comm, label, true);
      } catch (...) {
        failure_ = std::current_exception();
        return;
      }
      lock.lock();
    }
  }

  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    ended_changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  const clockid_t work_clock_ = processor_clock_of_this_thread();
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
  std::exception_ptr failure_;  // of the thread, until it is joined
  std::thread thread_;          // last: it uses the rest
};

std::exception_ptr failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

void leader_works(Communicator& comm, const CallLabel& label, const std::function<void()>& work) {
  std::exception_ptr failure;
  if (comm.rank() != 0) {
    failure = failure_of(work);
    while (share_whether_it_works(comm, label, false)) {
    }
  } else if (comm.size() == 1) {
    failure = failure_of(work);
  } else {
    SignsOfLife signs(comm, label);
    failure = failure_of(work);
    signs.end_or_throw();
    share_whether_it_works(comm, label, false);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace samegrad
