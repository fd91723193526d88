// The memory that the ranks of one host share: a header, a record for each rank, and for each rank an outbox of two
// slots. All zero but for the header when it is new.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

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

/// Parts that different ranks write are on different cache lines.
struct ShmRankRecord {
  /// Chunks that this rank has published in all its calls, modulo 2^32. A futex.
  alignas(64) std::atomic<std::uint32_t> published;
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

/// A new memfd (close-on-exec) with the region of `world_size` ranks; size sealed. Throws RunError. Local.
int create_region_file(int world_size, std::size_t slot_bytes);

/// The region mapped into this process. Movable.
class ShmRegion {
 public:
  /// Maps the region behind `fd`, then closes `fd`. Throws InputError where it is no region, of another version of
  /// samegrad, or not for `world_size` ranks. Local.
  static ShmRegion adopt_file(int fd, int world_size);
  /// A region for ranks that are threads of this process. `slot_bytes`: a multiple of 64. Throws RunError. Local.
  static ShmRegion for_threads(int world_size, std::size_t slot_bytes);

  ~ShmRegion();
  ShmRegion(ShmRegion&& other) noexcept;
  ShmRegion(const ShmRegion&) = delete;
  ShmRegion& operator=(const ShmRegion&) = delete;
  ShmRegion& operator=(ShmRegion&&) = delete;

  int world_size() const { return world_size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  ShmRankRecord& record(int rank) const;
  ShmStory& story() const;
  /// slot_bytes() bytes, 64-byte aligned. `slot` is 0 or 1.
  std::byte* outbox(int rank, std::uint32_t slot) const;

 private:
  ShmRegion(std::byte* base, std::size_t bytes, int world_size, std::size_t slot_bytes);

  std::byte* base_;
  std::size_t bytes_;
  int world_size_;
  std::size_t slot_bytes_;
};

}  // namespace samegrad
