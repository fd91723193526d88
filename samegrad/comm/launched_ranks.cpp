#include "samegrad/comm/launched_ranks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/comm/rank_end.h"
#include "samegrad/comm/shm_region.h"

namespace samegrad {
namespace {

std::string content_of(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_size <= 0) {
    return {};
  }
  std::string content(static_cast<std::size_t>(std::min<off_t>(status.st_size, 1 << 20)), '\0');
  const ssize_t count = pread(fd, content.data(), content.size(), 0);
  content.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return content;
}

/// The text that begins with its length at `offset`, which moves behind it; nothing where it is not whole.
std::optional<std::string_view> next_text(std::string_view content, std::size_t& offset) {
  std::uint32_t length = 0;
  if (content.size() - offset < sizeof(length)) {
    return std::nullopt;
  }
  std::memcpy(&length, content.data() + offset, sizeof(length));
  offset += sizeof(length);
  if (content.size() - offset < length) {
    return std::nullopt;
  }
  const std::string_view text = content.substr(offset, length);
  offset += length;
  return text;
}

/// The value of the last key with that end: c10d's FileStore appends key and value of each note.
std::optional<std::string_view> note(std::string_view content, std::string_view key_end) {
  std::optional<std::string_view> found;
  std::size_t offset = 0;
  while (const auto key = next_text(content, offset)) {
    const auto value = next_text(content, offset);
    if (key->ends_with(key_end)) {
      found = value.value_or("");
    }
  }
  return found;
}

}  // namespace

LaunchedRanks::LaunchedRanks(int fd, bool shares_memory, int world_size) : world_size_(world_size) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    throw RunError("launch", std::string("the file where ranks meet: ") + std::strerror(errno));
  }
  if (shares_memory) {
    region_ = std::make_unique<ShmRegion>(ShmRegion::adopt_file(own, world_size));
  } else {
    store_fd_ = own;
  }
}

LaunchedRanks::~LaunchedRanks() {
  if (store_fd_ >= 0) {
    close(store_fd_);
  }
}

bool LaunchedRanks::has_joined(int rank) const {
  if (region_) {
    const ShmRankState state = region_->record(rank).state.load(std::memory_order_acquire);
    return state != ShmRankState::kAbsent && state != ShmRankState::kJoining;
  }
  return note(content_of(store_fd_), "/rank/" + std::to_string(rank)).has_value();  // its facts (comm/meeting.cpp)
}

bool LaunchedRanks::any_has_joined() const {
  for (int rank = 0; rank < world_size_; ++rank) {
    if (has_joined(rank)) {
      return true;
    }
  }
  return false;
}

std::optional<PeerStory> LaunchedRanks::story() const {
  if (region_) {
    const ShmStory& told = region_->story();
    if (told.state.load(std::memory_order_acquire) != ShmStory::kTold) {
      return std::nullopt;
    }
    const std::array<char, kLongestStory + 1> text = told.text.load();
    return PeerStory{told.culprit_rank.load(), std::string(text.begin(), std::find(text.begin(), text.end(), '\0'))};
  }
  const std::string content = content_of(store_fd_);
  const std::optional<std::string_view> text = note(content, std::string("/") + kStoryKey);
  return text ? std::optional(story_from_text(*text)) : std::nullopt;
}

bool LaunchedRanks::tell_of_end(int rank, int pid, std::string_view reason) {
  if (!region_) {
    return false;
  }
  if (!has_joined(rank)) {
    ShmRankRecord& record = region_->record(rank);
    std::array<char, 512> text{};
    std::copy_n(reason.begin(), std::min(reason.size(), text.size() - 1), text.begin());
    record.reason.store(text);
    record.pid.store(pid);
    record.state.store(ShmRankState::kFailed, std::memory_order_release);
  }
  return true;
}

}  // namespace samegrad
