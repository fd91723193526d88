// At most one process at a time works in a folder. Nothing is left behind, however the process ends.
#pragma once

#include <filesystem>
#include <string_view>

namespace samegrad {

class FolderLock {
 public:
  /// Takes an advisory lock (flock) on `folder`, which is made where it is missing. Throws InputError (stage `stage`)
  /// where another process holds it for longer than a second, RunError where the folder cannot be made or opened.
  /// Local.
  FolderLock(const std::filesystem::path& folder, std::string_view stage);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace samegrad
