// What a training says that was asked to stop, and whose last checkpoint takes longer than it may.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// What others may ask of a run at any time, also while it hangs.
struct TrainingProgress {
  std::atomic<std::int64_t> update = 0;  ///< the newest that is made
  std::atomic<std::int64_t> saved = -1;  ///< the newest checkpoint's; -1: none
};

class LateStop {
 public:
  explicit LateStop(std::int64_t grace_s) : grace_s_(grace_s) {}

  TrainingProgress progress;

  /// As long as the result lives, end() looks whom this rank waits for. Local.
  std::shared_ptr<void> watch(const Communicator& comm);
  /// Ends the process with a report of what is not saved, and, where this rank waits for another, of that one as the
  /// cause. Called on a thread of its own, where the rest of the process may hang. Local.
  [[noreturn]] void end();

 private:
  std::int64_t grace_s_;
  std::mutex mutex_;
  const Communicator* comm_ = nullptr;
  bool joined_ = false;
};

}  // namespace samegrad
