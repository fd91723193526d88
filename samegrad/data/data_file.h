// The user's data file, read by position. It is not mapped: a file that somebody shortens during a run must be an error
// of this file, not a bus error, and reading counts towards no process's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "samegrad/data/known_file.h"

namespace samegrad {

class DataFile {
 public:
  /// Opens `path`. Throws InputError (stage data) naming file and reason: missing, unreadable, no regular file.
  explicit DataFile(std::filesystem::path path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Bytes when it was opened.
  std::int64_t size() const { return size_; }
  /// Of the open file, as it is now. Throws InputError. Local.
  FileFacts facts() const;
  /// Whether every write from now on shows in the facts. One through a mapping does so only for a page that is clean:
  /// this waits until they all are. False where a file system has no clean pages (tmpfs) or cannot tell. Local.
  bool later_writes_show() const;
  /// Fills `into` from `offset`; returns the bytes read, fewer only at the end of the file. Throws InputError. May be
  /// called by several threads at once.
  std::size_t read_at(std::int64_t offset, std::span<char> into) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace samegrad
