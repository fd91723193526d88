// The bytes of a rank's status record, in a file mapped shared or in memory that ranks share. One process writes,
// others read at any time, also after the writer has been killed in the middle of a write.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "samegrad/comm/shared_words.h"

namespace samegrad {

inline constexpr std::uint64_t kStatusMagic = 0x5355544154534753;  // "SGSTATUS"
inline constexpr std::uint32_t kStatusVersion = 1;

/// Who writes; never changes. Texts are printable ASCII, filled up with NUL, of which there is at least one.
struct StatusIdentity {
  std::uint64_t magic = kStatusMagic;
  std::uint32_t version = kStatusVersion;
  std::uint32_t image_bytes = 0;
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::int32_t pid = 0;
  std::int32_t unused = 0;
  std::uint64_t start_time = 0;
  std::int64_t started_realtime_ns = 0;
  std::int64_t started_monotonic_ns = 0;
  std::array<char, 40> pid_space{};
  std::array<char, 64> host{};
};

/// What it does; replaced as a whole.
struct StatusMoment {
  std::uint32_t state = 0;
  std::uint32_t operation = 0;
  std::int32_t root = 0;
  std::uint32_t dtype = 0;
  std::uint64_t bytes = 0;
  std::int64_t call_update = 0;
  std::int64_t collectives = 0;
  std::int64_t update = 0;
  std::int64_t entered_realtime_ns = 0;
  std::int64_t entered_monotonic_ns = 0;
  std::int64_t progress_realtime_ns = 0;
  std::int64_t progress_monotonic_ns = 0;
  std::array<char, 24> phase{};
  std::array<char, 48> name{};
};

/// Moment number n is in slot n % 2, and `current` is n once it is whole: the writer fills the other slot meanwhile, so
/// that one whole moment is there at every instant. A reader that finds `current` unchanged afterwards has read one.
/// What changes most often, `state` and the times of progress, the writer may change in place.
struct StatusImage {
  SharedWords<StatusIdentity> identity;
  std::atomic<std::uint64_t> current;
  std::array<SharedWords<StatusMoment>, 2> moments;
};

/// The same bytes as they lie in a file.
struct StatusBytes {
  StatusIdentity identity;
  std::uint64_t current = 0;
  std::array<StatusMoment, 2> moments;
};
static_assert(sizeof(StatusBytes) == sizeof(StatusImage) && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace samegrad
