// The exchange in place: ranks say where their memory lies, work in each other's, and meet again.
#include <algorithm>
#include <cstring>
#include <functional>

#include "samegrad/base/check.h"
#include "samegrad/comm/cache_lines.h"
#include "samegrad/comm/shm_communicator.h"

namespace samegrad {
namespace {

/// An offset in a rank's arena, ShmArena::kElsewhere, or:
using Place = std::uint64_t;
constexpr Place kNothing = ShmArena::kElsewhere - 1;

/// A part of a core's first cache.
constexpr std::size_t kFewBytes = 16'384;

}  // namespace

/// Of the next chunk: this rank's result, then its parts.
void ShmCommunicator::post(const ExchangedMemory& mine, std::size_t bytes) {
  const std::uint32_t slot = published_ % 2;
  auto& places = region_->record(rank_).places;
  places[0][slot].store(arena_->offset_of(mine.result, bytes), std::memory_order_relaxed);
  for (std::size_t i = 0; i < mine.parts.size(); ++i) {
    const Place place = mine.parts[i] == nullptr ? kNothing : arena_->offset_of(mine.parts[i], bytes);
    places[i + 1][slot].store(place, std::memory_order_relaxed);
  }
}

/// Of the chunk published last, into posted_; false where a rank's memory is elsewhere.
bool ShmCommunicator::read_posts(std::size_t parts, std::size_t bytes) {
  const std::uint32_t slot = (published_ - 1) % 2;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& places = region_->record(rank).places;
    const std::span<std::byte> arena = region_->arena(rank);
    ExchangedMemory& posted = posted_[static_cast<std::size_t>(rank)];
    posted.parts.assign(parts, nullptr);
    for (std::size_t i = 0; i <= parts; ++i) {
      const Place place = places[i][slot].load(std::memory_order_relaxed);
      if (place == ShmArena::kElsewhere) return false;
      if (place == kNothing && i > 0) continue;
      SAMEGRAD_CHECK_OP(place, <=, arena.size());
      SAMEGRAD_CHECK_OP(bytes, <=, arena.size() - place);
      if (i == 0) {
        posted.result = arena.data() + place;
      } else {
        posted.parts[i - 1] = arena.data() + place;
      }
    }
  }
  return true;
}

bool ShmCommunicator::exchange_in_place(const ExchangedMemory& mine, std::size_t bytes,
                                        const std::function<void(std::span<const ExchangedMemory> all)>& work,
                                        const CallLabel& label) {
  if (region_->arena(rank_).empty() || mine.parts.size() >= kMostPlaces) return false;  // on all ranks
  bool in_place = false;
  const auto exchange = [&](const CallRecord& call) {
    post(mine, bytes);
    meet(call, label, /*begins_call=*/true);
    in_place = read_posts(mine.parts.size(), bytes);
    if (!in_place) return;
    work(posted_);
    meet(call, label, /*begins_call=*/false);
    if (bytes <= kFewBytes) prefetch_for_writing(mine.result, bytes);  // a part was written by others, is used at once
  };
  run(record_call(CallOperation::kReduce, 0, bytes, label), std::ref(exchange));
  return in_place;
}

}  // namespace samegrad
