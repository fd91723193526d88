// A checkpoint while it is written: a hidden folder that takes its final name as a whole, or goes away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "samegrad/base/file_operations.h"
#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// The rank that saves; fault points of a save carry it.
inline constexpr int kSavingRank = 0;

class StagedFolder {
 public:
  /// Makes `checkpoints` where it is missing, durably, removes what dead processes left in it, and makes
  /// `.saving-step-<update>-<process>` in it. `bytes_needed` is for messages. `files` must outlive this. Throws
  /// RunError.
  StagedFolder(FileOperations& files, const std::filesystem::path& checkpoints, std::int64_t update,
               std::int64_t bytes_needed);
  /// Removes the folder unless it was placed.
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Writes `head`, and after it the tensors' bytes, into a new file and fsyncs it. Size and digests are those of the
  /// bytes in memory, so what a disk does to them later is found. Throws RunError naming path, bytes needed and bytes
  /// free.
  ManifestFile write(const std::string& name, std::string_view head, std::span<const TensorView> tensors = {});

  /// fsyncs the folder and gives it its final name, in one step also where an older folder has that name (in two
  /// renames on a file system without exchange: a crash between them leaves the old one hidden, where it is found).
  /// fsyncs the parent, and then removes the older one. Returns the final path. Throws RunError: before the final name
  /// is taken nothing of this save stays; where the parent's fsync fails both stay, whole, the older one hidden.
  std::filesystem::path place();

 private:
  void prepare_checkpoints();
  std::filesystem::path take_name(const std::filesystem::path& final_path);
  void check(int reason, const std::string& operation);
  [[noreturn]] void fail(const std::string& what);

  FileOperations* files_;
  std::filesystem::path checkpoints_;
  std::int64_t update_;
  std::int64_t bytes_needed_;
  std::filesystem::path staged_;
  bool placed_ = false;
};

}  // namespace samegrad
