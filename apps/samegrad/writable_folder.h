// Whether a run can save what it will compute: looked at before the first update, leaving nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

/// A folder and those above it, made where they are missing; at the end those that were made, and are empty, go.
class PassingFolder {
 public:
  /// Throws RunError naming what is in the way. Local.
  explicit PassingFolder(const std::filesystem::path& folder);
  ~PassingFolder();
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;
};

/// What stands in the temporary name of the folder in which `train --dry-run` prepares.
inline constexpr const char* kScratchName = "dry-run";

/// That folder, in the run's; goes with all that is in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& run);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  PassingFolder folder_;
};

/// Writes, syncs, renames and removes a small hidden file in `folder`, and compares the free bytes there with
/// `bytes_needed`. Throws RunError where one of these fails: "[STAGE] FOLDER cannot take PURPOSE: ...". Local.
void require_writable(const std::string& stage, const std::filesystem::path& folder, const std::string& purpose,
                      std::int64_t bytes_needed);

/// The same of every folder that this train or verify will write to. Local.
void require_writable_run(const CommandLine& command, const RunConfig& config, const RunPaths& paths);

}  // namespace samegrad
