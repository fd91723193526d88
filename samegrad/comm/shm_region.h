// The memory that the ranks of one host share: a header, a record for each rank, for each rank an outbox of two slots,
// and for each rank an arena for gradients (comm/shm_arena.h). All zero but for the header when it is new.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "samegrad/comm/call_record.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/shared_words.h"
#include "samegrad/comm/status_image.h"

namespace samegrad {

enum class ShmRankState : std::uint32_t {
  kAbsent = 0,
  kJoining,  ///< pid and start time are being written
  kJoined,
  kLeft,    ///< ended in good order
  kFailed,  ///< `reason` says why
};

/// Of a rank in an exchange in place: a result and more parts than a run of 2^30 atoms has subtrees.
inline constexpr std::size_t kMostPlaces = 61;

/// Parts that different ranks write are on different cache lines.
struct ShmRankRecord {
  /// Chunks that this rank has published in all its calls, modulo 2^32. A futex.
  alignas(64) std::atomic<std::uint32_t> published;
  /// Ranks that sleep on it, or died while they did.
  std::atomic<std::uint32_t> sleepers;
  /// call_mark of `calls` where it begins, on the line that whoever waits reads anyway.
  std::array<std::atomic<std::uint64_t>, 2> call_marks;
  /// Where the memory of an exchange in place lies, by place and slot (shm_exchange.cpp): the first two, which are all
  /// that most exchanges have, are on that line too.
  std::array<std::array<std::atomic<std::uint64_t>, 2>, kMostPlaces> places;
  alignas(64) std::atomic<ShmRankState> state;
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> start_time;  ///< of the process (/proc/PID/stat, field 22); 0: unknown
  SharedWords<std::array<char, 512>> reason;
  /// The call to which the chunk in the outbox slot of this index belongs.
  alignas(64) std::array<SharedWords<CallRecord>, 2> calls;
  alignas(64) StatusImage status;
};

/// The first word about a failure, of all ranks.
struct ShmStory {
  enum State : std::uint32_t { kNone = 0, kBeingTold, kTold };

  std::atomic<std::uint32_t> state;
  std::atomic<std::int32_t> culprit_rank;
  SharedWords<std::array<char, kLongestStory + 1>> text;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Bytes of an outbox slot between processes: a longer message goes in several chunks.
inline constexpr std::size_t kDefaultSlotBytes = std::size_t{1} << 20;

/// Addresses of all ranks' arenas between processes. Memory is taken page by page as it is first touched.
inline constexpr std::size_t kArenaBytesOfAllRanks = std::size_t{1} << 38;
/// Addresses of a rank's arena between threads.
inline constexpr std::size_t kThreadArenaBytes = std::size_t{1} << 24;

/// A new memfd (close-on-exec) with the region of `world_size` ranks; size sealed. Without arenas where a limit of this
/// process on addresses or file sizes (ulimit -v, -f) leaves no room for them. Throws RunError. Local.
int create_region_file(int world_size, std::size_t slot_bytes);

/// The region mapped into this process. Movable.
class ShmRegion {
 public:
  /// Maps the region behind `fd`, then closes `fd`. Throws InputError where it is no region, of another version of
  /// samegrad, or not for `world_size` ranks. Local.
  static ShmRegion adopt_file(int fd, int world_size);
  /// A region for ranks that are threads of this process. `slot_bytes`: a multiple of 64. `arena_bytes` of each rank.
  /// Throws RunError. Local.
  static ShmRegion for_threads(int world_size, std::size_t slot_bytes, std::size_t arena_bytes = kThreadArenaBytes);

  ~ShmRegion();
  ShmRegion(ShmRegion&& other) noexcept;
  ShmRegion(const ShmRegion&) = delete;
  ShmRegion& operator=(const ShmRegion&) = delete;
  ShmRegion& operator=(ShmRegion&&) = delete;

  int world_size() const { return world_size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  ShmRankRecord& record(int rank) const { return reinterpret_cast<ShmRankRecord*>(base_ + kRecordsAt)[rank]; }
  ShmStory& story() const;
  /// slot_bytes() bytes, 64-byte aligned. `slot` is 0 or 1.
  std::byte* outbox(int rank, std::uint32_t slot) const;
  /// Of the same size for every rank, page-aligned; empty where the region has none.
  std::span<std::byte> arena(int rank) const;

 private:
  static constexpr std::size_t kRecordsAt = 4096;

  ShmRegion(std::byte* base, int world_size, std::size_t slot_bytes, std::size_t arena_bytes);

  std::byte* base_;
  int world_size_;
  std::size_t slot_bytes_;
  std::size_t arena_bytes_;
};

}  // namespace samegrad
