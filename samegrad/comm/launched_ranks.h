// What a launcher sees of the ranks that meet where it let them meet, and what it says to those that wait.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "samegrad/comm/peer_story.h"

namespace samegrad {

class ShmRegion;

/// The ranks that meet in one file: of create_shared_memory(), or of create_store_file().
class LaunchedRanks {
 public:
  /// `fd` stays the caller's. Throws RunError, InputError as join_shared_memory. Local.
  LaunchedRanks(int fd, bool shares_memory, int world_size);
  ~LaunchedRanks();
  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;

  /// Whether `rank` has come to the meeting. Local.
  bool has_joined(int rank) const;
  /// Whether any rank has. Local.
  bool any_has_joined() const;

  /// Why a rank gave up, as the first one told the others; nothing where none did, or it is not whole. Local.
  std::optional<PeerStory> story() const;

  /// For a rank whose process `pid` has ended before it came: those that wait for it in shared memory leave by a
  /// PeerError with `reason`. Returns false where the ranks cannot be told so: they meet in a store file. Local.
  bool tell_of_end(int rank, int pid, std::string_view reason);

 private:
  int store_fd_ = -1;  // -1: memory
  int world_size_;
  std::unique_ptr<ShmRegion> region_;
};

}  // namespace samegrad
