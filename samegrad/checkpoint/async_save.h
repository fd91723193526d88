// A checkpoint that is written while training goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include "samegrad/checkpoint/checkpoint.h"

namespace samegrad {

/// At most one save is in flight. Local: rank 0 has one, and tells the others what became of it.
class AsyncSave {
 public:
  explicit AsyncSave(FileOperations& files = real_files()) : files_(&files) {}
  /// Waits for a save in flight. Its failure, if nobody asked for it, is dropped.
  ~AsyncSave() = default;
  AsyncSave(const AsyncSave&) = delete;
  AsyncSave& operator=(const AsyncSave&) = delete;

  /// Waits for a save in flight, throwing its failure. Then copies `content` with the tensors that it looks at, and
  /// returns: the copy is saved by another thread (save_checkpoint), which then calls `done` with the final path. The
  /// memory of the copy is kept for the next one.
  void start(const std::filesystem::path& checkpoints, std::int64_t update, const CheckpointContent& content,
             std::function<void(const std::filesystem::path&)> done);

  /// Throws what the last save, or `done`, threw, once; does not wait for one that is in flight.
  void check();

  /// Waits for a save in flight and throws what it threw.
  void wait();

 private:
  CheckpointContent copy_of(const CheckpointContent& content);

  FileOperations* files_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t memory_bytes_ = 0;
  std::future<void> in_flight_;  // last: its destructor waits for the thread, which uses the others
};

}  // namespace samegrad
