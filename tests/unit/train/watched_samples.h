// Samples of which a test sees the reading, and in which it can make it fail or hang.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/data/sample_source.h"

namespace samegrad::testing {

class WatchedSamples final : public SampleSource {
 public:
  explicit WatchedSamples(std::vector<Sample> samples) : samples_(std::move(samples)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  std::int64_t supervised_tokens(std::int64_t id) const override { return at(id).supervised_tokens(); }
  std::int64_t input_tokens(std::int64_t id) const override { return static_cast<std::int64_t>(at(id).inputs.size()); }
  Sample sample(std::int64_t id) const override {
    std::unique_lock lock(mutex_);
    if (id == faulty_) throw InputError("data", "x.jsonl:" + std::to_string(id) + ": the file has changed");
    read_.push_back(id);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hangs_; });
    return at(id);
  }

  void make_faulty(std::int64_t id) { faulty_ = id; }
  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  /// Returns once so many samples were read; all that were.
  std::vector<std::int64_t> wait_for_reads(std::size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_.size() >= count; });
    return read_;
  }

 private:
  const Sample& at(std::int64_t id) const { return samples_.at(static_cast<std::size_t>(id)); }

  std::vector<Sample> samples_;
  std::int64_t faulty_ = -1;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::int64_t> read_;
  bool hangs_ = false;
};

}  // namespace samegrad::testing
