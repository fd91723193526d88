// A checkpoint while it is written: a hidden folder that takes its final name as a whole, or goes away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/place_folder.h"

namespace samegrad {

/// The rank that saves; fault points of a save carry it.
inline constexpr int kSavingRank = 0;

class StagedFolder {
 public:
  /// Makes `checkpoints` where it is missing, durably, and `.saving-step-<update>-<process>` in it. `bytes_needed` is
  /// for messages. Throws RunError.
  StagedFolder(const std::filesystem::path& checkpoints, std::int64_t update, std::int64_t bytes_needed);
  /// Removes the folder unless it was placed.
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Writes the pieces one after the other into a new file and fsyncs it. Size and digest are those of the pieces in
  /// memory, so what a disk does to them later is found. Throws RunError naming path, bytes needed and bytes free.
  ManifestFile write(const std::string& name, std::span<const std::string_view> pieces);

  /// fsyncs the folder, gives it its final name, fsyncs the parent, removes an older folder of that name. Returns the
  /// final path. Throws RunError.
  std::filesystem::path place(ReplaceWay way);

 private:
  [[noreturn]] void fail(const std::string& operation, int reason) const;
  void write_bytes(int descriptor, const std::string& name, std::string_view bytes) const;

  std::filesystem::path checkpoints_;
  std::int64_t update_;
  std::int64_t bytes_needed_;
  std::filesystem::path staged_;
  bool placed_ = false;
};

/// Removes hidden folders in `checkpoints` whose process is gone: half written saves, replaced and removed checkpoints.
/// A replaced one whose successor never came gets its name back. What cannot be removed stays: the next save tries
/// again. Local.
void remove_leftovers(const std::filesystem::path& checkpoints);

}  // namespace samegrad
