// What samegrad left in a run's folder, told apart from everything else that may lie there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/config/run_paths.h"

namespace samegrad {

struct GeneratedFile {
  std::filesystem::path path;
  std::int64_t bytes = 0;
};

/// Something below outputs/ or artifacts/ that stays.
struct LeftFile {
  std::filesystem::path path;
  std::string reason;
};

struct GeneratedFiles {
  std::vector<GeneratedFile> files;            ///< sorted by path
  std::vector<std::filesystem::path> folders;  ///< that may be removed once empty, inner ones first
  std::vector<LeftFile> left;

  std::int64_t bytes() const;
};

/// Looks at outputs/ and artifacts/ of the run. Generated are regular files with the names of RunPaths and of a
/// checkpoint's parts, and what a broken-off write of one of them left, once its process is gone. Links are never
/// followed below the run's folder, and stay. Throws RunError where a folder cannot be read. Local.
GeneratedFiles find_generated(const RunPaths& paths);

/// Removes the files, then the folders that are empty. Throws RunError at the first file that cannot be removed. Local.
void remove_generated(const GeneratedFiles& generated);

}  // namespace samegrad
