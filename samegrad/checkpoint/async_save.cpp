#include "samegrad/checkpoint/async_save.h"

#include <array>
#include <cstring>
#include <utility>

#include "samegrad/base/blocked_signals.h"

namespace samegrad {

void AsyncSave::start(const std::filesystem::path& checkpoints, std::int64_t update, const CheckpointContent& content,
                      std::function<void(const std::filesystem::path&)> done) {
  wait();
  const BlockedSignals blocked;
  in_flight_ = std::async(std::launch::async,
                          [files = files_, checkpoints, update, copy = copy_of(content), done = std::move(done)] {
                            done(save_checkpoint(checkpoints, update, copy, *files));
                          });
}

void AsyncSave::check() {
  if (in_flight_.valid() && in_flight_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) in_flight_.get();
}

void AsyncSave::wait() {
  if (in_flight_.valid()) in_flight_.get();
}

CheckpointContent AsyncSave::copy_of(const CheckpointContent& content) {
  CheckpointContent copy = content;
  const std::array tensors = {&copy.model, &copy.optimizer, &copy.extra};
  std::size_t bytes = 0;
  for (const std::vector<TensorView>* const views : tensors) {
    for (const TensorView& view : *views) bytes += view.bytes.size();
  }
  if (bytes > memory_bytes_) {
    memory_.reset();
    memory_.reset(new std::byte[bytes]);  // not set to zero: that would be a second pass over it
    memory_bytes_ = bytes;
  }
  std::byte* place = memory_.get();
  for (std::vector<TensorView>* const views : tensors) {
    for (TensorView& view : *views) {
      if (!view.bytes.empty()) std::memcpy(place, view.bytes.data(), view.bytes.size());
      view.bytes = {place, view.bytes.size()};
      place += view.bytes.size();
    }
  }
  return copy;
}

}  // namespace samegrad
