#include "samegrad/comm/shm_arena.h"

#include <sys/mman.h>

namespace samegrad {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

std::shared_ptr<std::byte> ShmArena::allocate(std::size_t bytes) {
  const std::span<std::byte> arena = region_->arena(rank_);
  if (bytes == 0 || bytes > arena.size()) return nullptr;
  const std::size_t size = (bytes + kPage - 1) / kPage * kPage;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t offset = used_;
  if (const auto found = free_.find(size); found != free_.end()) {
    offset = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) free_.erase(found);
  } else if (size <= arena.size() - used_) {
    used_ += size;
  } else {
    return nullptr;
  }
  return {arena.data() + offset,
          [arena_of_block = shared_from_this(), offset, size](std::byte*) { arena_of_block->give_back(offset, size); }};
}

void ShmArena::give_back(std::size_t offset, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  madvise(region_->arena(rank_).data() + offset, bytes, MADV_REMOVE);  // the pages go back to the system
  free_[bytes].push_back(offset);
}

std::uint64_t ShmArena::offset_of(const std::byte* place, std::size_t bytes) const {
  const std::span<std::byte> arena = region_->arena(rank_);
  const auto begin = reinterpret_cast<std::uintptr_t>(place);
  const auto base = reinterpret_cast<std::uintptr_t>(arena.data());
  if (begin < base || begin - base > arena.size() || bytes > arena.size() - (begin - base)) return kElsewhere;
  return begin - base;
}

void ShmArena::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  free_.clear();
}

}  // namespace samegrad
