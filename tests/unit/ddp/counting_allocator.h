// The CPU memory that tensors take, counted exactly: no resident set, no caches.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace samegrad {

/// The CPU's allocator, with the bytes that are taken.
class CountingAllocator final : public c10::Allocator {
 public:
  /// Counts from the first call on. Local.
  static CountingAllocator& installed() {
    static CountingAllocator* const counting = [] {
      auto* made = new CountingAllocator;  // as long as the program: tensors outlive every test
      c10::SetCPUAllocator(made, /*priority=*/100);
      return made;
    }();
    return *counting;
  }
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const memory = inner_->raw_allocate(bytes);
    const std::lock_guard lock(mutex_);
    taken_[memory] = static_cast<std::int64_t>(bytes);
    live += taken_[memory];
    most = std::max(most, live);
    return {memory, memory, &release, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  std::int64_t live = 0;  ///< bytes taken and not given back
  std::int64_t most = 0;  ///< the largest `live` since it was last set

 private:
  static void release(void* memory) {
    CountingAllocator& counting = installed();
    if (memory == nullptr) return;
    const std::lock_guard lock(counting.mutex_);
    counting.live -= counting.taken_.at(memory);
    counting.taken_.erase(memory);
    counting.inner_->raw_deallocate(memory);
  }
  std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> taken_;
  c10::Allocator* inner_ = c10::GetCPUAllocator();
};

}  // namespace samegrad
