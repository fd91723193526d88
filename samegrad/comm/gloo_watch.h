// A wait of Gloo ends when its message comes, or with all connections closed. This looks beside it for reasons to give
// up sooner: a failure that another rank has told, or calls that differ.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace samegrad {

class GlooWatch {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;

  /// `must_end` is asked on another thread, again and again, while a wait lasts longer than a quarter second; the wait
  /// does not return meanwhile. Local.
  explicit GlooWatch(std::function<bool()> must_end);
  ~GlooWatch();
  GlooWatch(const GlooWatch&) = delete;
  GlooWatch& operator=(const GlooWatch&) = delete;

  /// Waits for `work`. False where `must_end` ended it; throws what Gloo throws. Local.
  bool wait(const Work& work, std::chrono::milliseconds timeout);

 private:
  void run();

  std::function<bool()> must_end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Work waited_;              // for; none: nobody waits
  std::uint64_t waits_ = 0;  // so far
  bool ended_wait_ = false;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace samegrad
