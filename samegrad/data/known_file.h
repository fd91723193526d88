// A data file that was read through once and has not been touched since: a later start need not read it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace samegrad {

/// What the file system says of a file without reading it. Whoever writes to a file, or puts another in its place,
/// changes one of them: the time of the last change cannot be set by hand as the time of the last write can.
struct FileFacts {
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t written_ns = 0;  ///< st_mtim
  std::int64_t changed_ns = 0;  ///< st_ctim

  bool operator==(const FileFacts&) const = default;
};

/// Whether a write after `now_ns` (CLOCK_REALTIME) must show in the facts: file systems count time in steps, of up to
/// two seconds. Local.
bool facts_are_settled(const FileFacts& facts, std::int64_t now_ns);

/// Writes at `record` that the file with these facts has this content. A failure is none of the run's: the file is then
/// read again. Local.
void remember_file(const std::filesystem::path& record, const FileFacts& facts, const std::string& sha256);

/// Whether `record` says so; false where there is none or it cannot be read. Local.
bool is_remembered(const std::filesystem::path& record, const FileFacts& facts, const std::string& sha256);

}  // namespace samegrad
