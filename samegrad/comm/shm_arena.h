// Blocks of a rank's arena in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {

/// For use by several threads at once. Blocks keep it, and the region, alive.
class ShmArena final : public GradientMemory, public std::enable_shared_from_this<ShmArena> {
 public:
  ShmArena(std::shared_ptr<ShmRegion> region, int rank) : region_(std::move(region)), rank_(rank) {}

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  static constexpr std::uint64_t kElsewhere = std::numeric_limits<std::uint64_t>::max();
  /// Where `bytes` at `place` lie in the arena; kElsewhere where they do not. Local.
  std::uint64_t offset_of(const std::byte* place, std::size_t bytes) const;
  /// What is given back from now on is not used again. Local.
  void close();

 private:
  void give_back(std::size_t offset, std::size_t bytes);

  std::shared_ptr<ShmRegion> region_;
  int rank_;
  std::mutex mutex_;
  std::size_t used_ = 0;                                  // up to here blocks were made
  std::map<std::size_t, std::vector<std::size_t>> free_;  // offsets by size: a model asks for the same sizes again
  bool closed_ = false;
};

}  // namespace samegrad
