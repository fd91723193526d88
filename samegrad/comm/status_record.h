// What a rank tells of itself while it runs, so that others can say where it is without its help: a record of fixed
// size that the rank keeps up to date with plain stores (comm/status_writer.h), in `<folder>/rank-<rank>`. Torch-free.
//
// Whoever reads takes the file for hostile: it may be a pipe, a link, cut, or hold anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/comm/call_record.h"

namespace samegrad {

struct StatusImage;

/// The folder where the ranks of a run keep their records, as a launcher gives it to them; unset or empty: none.
inline constexpr const char* kStatusFolderVariable = "SAMEGRAD_STATUS_DIR";

enum class RankState : std::uint32_t {
  kRunning = 1,  ///< between collective calls
  kWaiting,      ///< in one
  kDone,         ///< it takes part no more, in good order
  kFailed,
};
/// "running", "waiting", "done", "failed". Local.
std::string_view state_name(RankState state);

/// Times are nanoseconds: `realtime` since 1970, `monotonic` of monotonic_ns() on the rank's host.
struct RankStatus {
  int rank = 0;
  int world_size = 1;
  int pid = 0;
  std::uint64_t start_time = 0;  ///< of the process (comm/process_watch.h); 0: unknown
  std::string host;              ///< name, for messages
  std::string pid_space;         ///< equal to pid_space_of_this_process() where `pid` means the same here
  std::int64_t started_realtime_ns = 0;
  std::int64_t started_monotonic_ns = 0;

  RankState state = RankState::kRunning;
  std::int64_t update = 0;       ///< being made; 0 before the first
  std::string phase;             ///< "start", "agreement", "backward", "exchange", "save", ...
  std::int64_t collectives = 0;  ///< collective calls so far, the one it is in included
  CallRecord call;               ///< the newest of them, entered_ns unset; operation kNone: none yet
  std::int64_t entered_realtime_ns = 0;
  std::int64_t entered_monotonic_ns = 0;  ///< when it entered `call`; 0: no call yet
  std::int64_t progress_realtime_ns = 0;
  std::int64_t progress_monotonic_ns = 0;  ///< when this record last changed
};

/// Either a record, or why there is none.
struct StatusReading {
  int rank = 0;  ///< as the file's name has it
  std::optional<RankStatus> status;
  bool missing = false;  ///< there is no such file
  std::string reason;    ///< "" where there is a record
};

/// `folder`/rank-`rank`. Local.
std::filesystem::path status_path(const std::filesystem::path& folder, int rank);

/// The record of `rank` in `file`: a regular file, not a link, of exactly one record's size, with every value in its
/// range. Never throws, never waits, whatever the file is. Local.
StatusReading read_status_file(const std::filesystem::path& file, int rank);

/// All of `folder` that are named rank-0 to rank-255, by rank. Empty where the folder cannot be read. Local.
std::vector<StatusReading> read_status_folder(const std::filesystem::path& folder);

/// The same from memory that the rank shares with this process. Local.
StatusReading read_status_image(const StatusImage& image, int rank);

/// Names the kernel's boot and the pid namespace: equal texts, equal pids. "" where /proc does not tell. Local.
std::string pid_space_of_this_process();

/// Nanoseconds since 1970, to a timer tick. Local.
std::int64_t realtime_ns();

}  // namespace samegrad
