// The exchange in place: ranks say where their memory lies, work in each other's, and meet again.
#include <algorithm>
#include <cstring>
#include <limits>

#include "samegrad/base/check.h"
#include "samegrad/comm/shm_communicator.h"

namespace samegrad {
namespace {

/// An offset in a rank's arena, or one of these.
using Place = std::uint64_t;
constexpr Place kNothing = std::numeric_limits<Place>::max();
constexpr Place kElsewhere = kNothing - 1;

void write_place(std::byte* slot, std::size_t index, Place place) {
  std::memcpy(slot + index * sizeof(Place), &place, sizeof(place));
}

Place read_place(const std::byte* slot, std::size_t index) {
  Place place = 0;
  std::memcpy(&place, slot + index * sizeof(Place), sizeof(place));
  return place;
}

}  // namespace

/// Into this rank's next slot: its parts, then its result.
void ShmCommunicator::post(const ExchangedMemory& mine, std::size_t bytes) {
  std::byte* const slot = region_->outbox(rank_, published_ % 2);
  for (std::size_t i = 0; i < mine.parts.size(); ++i) {
    const std::byte* const part = mine.parts[i];
    write_place(slot, i, part == nullptr ? kNothing : arena_->offset_of(part, bytes).value_or(kElsewhere));
  }
  write_place(slot, mine.parts.size(), arena_->offset_of(mine.result, bytes).value_or(kElsewhere));
}

/// Of the chunk published last, into posted_; false where a rank's memory is elsewhere.
bool ShmCommunicator::read_posts(std::size_t parts, std::size_t bytes) {
  for (int rank = 0; rank < size(); ++rank) {
    const std::byte* const slot = region_->outbox(rank, (published_ - 1) % 2);
    const std::span<std::byte> arena = region_->arena(rank);
    ExchangedMemory& posted = posted_[static_cast<std::size_t>(rank)];
    posted.parts.assign(parts, nullptr);
    for (std::size_t i = 0; i <= parts; ++i) {
      const Place place = read_place(slot, i);
      if (place == kElsewhere) return false;
      if (place == kNothing && i < parts) continue;
      SAMEGRAD_CHECK_OP(place, <=, arena.size());
      SAMEGRAD_CHECK_OP(bytes, <=, arena.size() - place);
      if (i < parts) {
        posted.parts[i] = arena.data() + place;
      } else {
        posted.result = arena.data() + place;
      }
    }
  }
  return true;
}

bool ShmCommunicator::exchange_in_place(const ExchangedMemory& mine, std::size_t bytes,
                                        const std::function<void(std::span<const ExchangedMemory> all)>& work,
                                        const CallLabel& label) {
  const std::size_t places = mine.parts.size() + 1;
  if (region_->arena(rank_).empty() || places * sizeof(Place) > region_->slot_bytes()) return false;  // on all ranks
  bool in_place = false;
  run(record_call(CallOperation::kReduce, 0, bytes, label), [&](const CallRecord& call) {
    post(mine, bytes);
    meet(call, label, /*begins_call=*/true);
    in_place = read_posts(mine.parts.size(), bytes);
    if (!in_place) return;
    work(posted_);
    meet(call, label, /*begins_call=*/false);
  });
  return in_place;
}

}  // namespace samegrad
