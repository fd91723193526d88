// What communicators offer whose rank keeps a status record: every one that samegrad makes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/status_writer.h"

namespace samegrad {

class KeepsStatus {
 public:
  virtual ~KeepsStatus() = default;

  /// This rank's record; it notes every collective call by itself. Local.
  virtual StatusWriter& status() = 0;
  /// The record of `rank`, this one or another; nothing where it cannot be read from here. For any thread. Local.
  virtual std::optional<RankStatus> status_of(int rank) const = 0;
};

/// This rank is now in `phase` of `update` ("data", "backward", "exchange", "save", ...), for those who ask where it
/// is. Nothing happens where `comm` keeps no record. Local.
void note_phase(Communicator& comm, std::string_view phase, std::int64_t update);

/// Keeps the record of this rank in `folder` too. False where that cannot be. Local.
bool keep_status_in(Communicator& comm, const std::filesystem::path& folder);

}  // namespace samegrad
