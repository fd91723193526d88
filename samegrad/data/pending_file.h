// A file that is written piece by piece beside its place and appears there, whole, when it is committed: so that
// several files can be finished before any of them is replaced, and a large one need not be held in memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace samegrad {

class PendingFile {
 public:
  /// Opens a temporary file beside `path`; creates missing parent folders. Throws RunError. Local.
  explicit PendingFile(const std::filesystem::path& path);
  /// Removes what was not committed.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  /// Appends; small pieces are gathered. Throws RunError naming file and reason.
  void write(std::string_view bytes);
  /// Writes what is gathered and fsyncs; no write may follow. Throws RunError.
  void finish();
  /// Where the bytes lie until then.
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Puts the finished file in its place and fsyncs the folder. Throws RunError.
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(std::string_view operation) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
  std::string gathered_;
};

}  // namespace samegrad
