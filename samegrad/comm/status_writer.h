// A rank's own status record (comm/status_record.h), kept up to date by the communicator for every call, and by whoever
// knows the phase. Never fails: a record that cannot be placed is not there, and the run goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "samegrad/comm/status_image.h"
#include "samegrad/comm/status_record.h"

namespace samegrad {

/// For several threads at once. A change costs about 0.1 us, wherever the record is placed.
class StatusWriter {
 public:
  /// In no place yet; phase "start". Local.
  StatusWriter(int rank, int world_size);
  ~StatusWriter();
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  /// Keeps the record in `folder`/rank-<rank> too, from now on; makes the folder where it is missing. What was there by
  /// that name is replaced. False where that cannot be done. Local.
  bool place_in_folder(const std::filesystem::path& folder);
  /// Keeps it in `image` too, at least until end(). Local.
  void place_in_memory(StatusImage& image);
  /// Keeps it in anonymous memory too. Returns the number of a descriptor, open as long as this object lives, through
  /// which other processes of this host and user read it (comm/peer_record.h); -1 where that cannot be. Local.
  int share();

  /// Longer texts are cut, bytes that are not printable ASCII become '?'. Local.
  void set_phase(std::string_view phase, std::int64_t update);
  /// A collective call begins. Local.
  void enter(const CallRecord& call);
  /// It has succeeded. Local.
  void leave();
  /// The last change: this rank takes part no more. Later calls change nothing. Local.
  void end(RankState state);

 private:
  void publish(std::int64_t now_monotonic_ns);
  void note_progress(std::int64_t now_monotonic_ns);
  StatusBytes bytes_now() const;
  bool take(StatusImage* image);

  StatusIdentity identity_;
  StatusMoment moment_;
  std::int64_t realtime_ahead_ns_;  ///< of monotonic_ns(), when the phase began: one clock is enough for a call
  std::uint64_t current_ = 0;
  bool ended_ = false;
  std::vector<StatusImage*> images_;
  std::vector<StatusImage*> mapped_;  // those of images_ that this object maps
  int shared_fd_ = -1;
  std::atomic_flag busy_;  // a spin lock: it is held for 0.1 us
};

}  // namespace samegrad
