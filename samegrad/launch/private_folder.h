// A folder in memory for one launch, which nobody else can enter.
#pragma once

#include <filesystem>

namespace samegrad {

/// A new folder (mode 0700) in /dev/shm, or TMPDIR, or /tmp, removed with all in it at the end. What launchers left
/// that were killed is removed by the next one: a folder is in use as long as its lock is held, by this process or one
/// that it forked.
class PrivateFolder {
 public:
  /// Throws RunError where none of these can be written. Local.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Before its time: for a process that will not come to the end. Local.
  void remove() const;

 private:
  bool make_in(const std::filesystem::path& place);

  std::filesystem::path path_;
  int lock_fd_ = -1;
};

}  // namespace samegrad
