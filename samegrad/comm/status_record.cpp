#include "samegrad/comm/status_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>

#include "samegrad/base/digest.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/status_image.h"

namespace samegrad {
namespace {

constexpr std::string_view kPrefix = "rank-";
/// A writer changes its record every few microseconds at most, a look takes less.
constexpr int kMostLooks = 1'000;

/// False where it is not printable ASCII, NUL-filled.
template <std::size_t kSize>
bool take_text(const std::array<char, kSize>& chars, std::string& text) {
  const auto end = std::find(chars.begin(), chars.end(), '\0');
  text.assign(chars.begin(), end);
  return end != chars.end() && std::all_of(end, chars.end(), [](char c) { return c == '\0'; }) &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// "" or what is wrong with it.
std::string take_identity(const StatusIdentity& identity, int rank, RankStatus& status) {
  if (identity.magic != kStatusMagic) return "it is no status record";
  if (identity.version != kStatusVersion || identity.image_bytes != sizeof(StatusImage)) {
    return "it is of another version of samegrad (format " + std::to_string(identity.version) + ", this one reads " +
           std::to_string(kStatusVersion) + ")";
  }
  if (identity.world_size < 1 || identity.world_size > kMostLocalProcesses || identity.rank != rank ||
      rank >= identity.world_size || identity.pid < 1 || identity.started_realtime_ns < 0 ||
      identity.started_monotonic_ns < 0) {
    return "its rank, number of ranks, pid or start is impossible";
  }
  status.rank = identity.rank;
  status.world_size = identity.world_size;
  status.pid = identity.pid;
  status.start_time = identity.start_time;
  status.started_realtime_ns = identity.started_realtime_ns;
  status.started_monotonic_ns = identity.started_monotonic_ns;
  const bool readable = take_text(identity.host, status.host) && take_text(identity.pid_space, status.pid_space);
  return readable ? "" : "its host is no readable text";
}

std::string take_moment(const StatusMoment& moment, RankStatus& status) {
  if (moment.state < static_cast<std::uint32_t>(RankState::kRunning) ||
      moment.state > static_cast<std::uint32_t>(RankState::kFailed) ||
      moment.operation > static_cast<std::uint32_t>(kLastCallOperation) ||
      moment.dtype > static_cast<std::uint32_t>(kLastCallDtype)) {
    return "its state, operation or dtype is impossible";
  }
  const std::array counts{moment.update,
                          moment.collectives,
                          moment.call_update,
                          moment.entered_realtime_ns,
                          moment.entered_monotonic_ns,
                          moment.progress_realtime_ns,
                          moment.progress_monotonic_ns};
  if (std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; }) || moment.root < 0 ||
      moment.root >= status.world_size) {
    return "a count, time or root is impossible";
  }
  status.state = static_cast<RankState>(moment.state);
  status.update = moment.update;
  status.collectives = moment.collectives;
  status.call.operation = static_cast<CallOperation>(moment.operation);
  status.call.root = moment.root;
  status.call.bytes = moment.bytes;
  status.call.dtype = static_cast<CallDtype>(moment.dtype);
  status.call.number = static_cast<std::uint32_t>(moment.collectives);
  status.call.name = moment.name;
  status.call.update = moment.call_update;
  status.entered_realtime_ns = moment.entered_realtime_ns;
  status.entered_monotonic_ns = moment.entered_monotonic_ns;
  status.progress_realtime_ns = moment.progress_realtime_ns;
  status.progress_monotonic_ns = moment.progress_monotonic_ns;
  std::string name;
  const bool readable = take_text(moment.name, name) && take_text(moment.phase, status.phase);
  return readable ? "" : "its phase or call is no readable text";
}

StatusReading reading_of(int rank, const StatusIdentity& identity, const StatusMoment& moment) {
  StatusReading reading;
  reading.rank = rank;
  RankStatus status;
  reading.reason = take_identity(identity, rank, status);
  if (reading.reason.empty()) reading.reason = take_moment(moment, status);
  if (reading.reason.empty()) reading.status = std::move(status);
  return reading;
}

StatusReading unreadable(int rank, std::string reason, bool missing = false) {
  return {.rank = rank, .status = std::nullopt, .missing = missing, .reason = std::move(reason)};
}

StatusReading read_open_file(int fd, int rank) {
  struct stat found {};
  if (fstat(fd, &found) != 0) return unreadable(rank, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return unreadable(rank, "it is not a regular file");
  if (found.st_size != static_cast<off_t>(sizeof(StatusBytes))) {
    return unreadable(rank, "it has " + std::to_string(found.st_size) + " bytes, a status record has " +
                                std::to_string(sizeof(StatusBytes)));
  }
  for (int look = 0; look < kMostLooks; ++look) {
    StatusBytes bytes;
    std::uint64_t after = 0;
    const auto place = static_cast<off_t>(sizeof(StatusIdentity));
    std::uint64_t before = 0;
    if (pread(fd, &before, sizeof(before), place) != static_cast<ssize_t>(sizeof(before)) ||
        pread(fd, &bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes)) ||
        pread(fd, &after, sizeof(after), place) != static_cast<ssize_t>(sizeof(after))) {
      return unreadable(rank, "it was cut while it was read");
    }
    if (before == after) return reading_of(rank, bytes.identity, bytes.moments[after % 2]);
  }
  return unreadable(rank, "it changes faster than it can be read");
}

}  // namespace

std::string_view state_name(RankState state) {
  switch (state) {
    case RankState::kRunning:
      return "running";
    case RankState::kWaiting:
      return "waiting";
    case RankState::kDone:
      return "done";
    case RankState::kFailed:
      break;
  }
  return "failed";
}

std::filesystem::path status_path(const std::filesystem::path& folder, int rank) {
  return folder / (std::string(kPrefix) + std::to_string(rank));
}

StatusReading read_status_file(const std::filesystem::path& file, int rank) {
  const int fd = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    const int error = errno;
    return unreadable(rank, error == ELOOP ? "it is a symbolic link" : std::strerror(error),
                      error == ENOENT || error == ENOTDIR);
  }
  StatusReading reading = read_open_file(fd, rank);
  close(fd);
  return reading;
}

std::vector<StatusReading> read_status_folder(const std::filesystem::path& folder) {
  std::vector<int> ranks;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int rank = -1;
    const char* const last = name.data() + name.size();
    const auto [end, failed] = std::from_chars(name.data() + kPrefix.size(), last, rank);
    const bool canonical = failed == std::errc{} && end == last && name == status_path("", rank).string();
    if (canonical && rank >= 0 && rank < kMostLocalProcesses) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  std::vector<StatusReading> readings;
  readings.reserve(ranks.size());
  for (const int rank : ranks) readings.push_back(read_status_file(status_path(folder, rank), rank));
  return readings;
}

StatusReading read_status_image(const StatusImage& image, int rank) {
  for (int look = 0; look < kMostLooks; ++look) {
    const std::uint64_t before = image.current.load(std::memory_order_acquire);
    const StatusMoment moment = image.moments[before % 2].load();
    if (image.current.load(std::memory_order_acquire) == before) {
      return reading_of(rank, image.identity.load(), moment);
    }
  }
  return unreadable(rank, "it changes faster than it can be read");
}

std::string pid_space_of_this_process() {
  std::string boot;
  std::error_code error;
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  if (error || !std::getline(file, boot)) return "";
  return xxh3_128_hex(boot + " " + space.string());
}

std::int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace samegrad
