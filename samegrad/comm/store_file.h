// A named file in which the processes of one host meet, for as long as they need to find each other.
#pragma once

#include <string>

namespace samegrad {

/// Movable. The rank that `removes` takes the name away, at the latest with the destructor.
class StoreFile {
 public:
  /// Opens the file, or makes it, for its owner only (mode 0600). Throws InputError naming it where it is there but is
  /// no file of this user's that only they can use; RunError where it cannot be opened. Local.
  StoreFile(std::string path, bool removes);
  ~StoreFile();
  StoreFile(StoreFile&& other) noexcept;
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;
  StoreFile& operator=(StoreFile&&) = delete;

  const std::string& path() const { return path_; }
  /// The descriptor (close-on-exec), which is the caller's from now on. Local.
  int release_fd();
  /// Takes the name away if this rank is the one to do so. Once all ranks have opened it, none needs the name. Local.
  void remove_name();

 private:
  std::string path_;
  bool removes_;
  int fd_;
};

/// The folder for such files: XDG_RUNTIME_DIR where it can be used, else /dev/shm. Both are memory, and of one host.
/// `runtime_folder`: the variable's value, or "". Local.
std::string store_file_folder(const std::string& runtime_folder);

}  // namespace samegrad
