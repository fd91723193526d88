// What a safe save asks of a file system: one virtual call an operation, so that a test can make any of them fail, and
// record them all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

/// The real file system. Every call returns 0 or an errno and does not throw. Thread-safe. Local.
class FileOperations {
 public:
  FileOperations() = default;
  virtual ~FileOperations() = default;
  FileOperations(const FileOperations&) = delete;
  FileOperations& operator=(const FileOperations&) = delete;

  virtual int make_folder(const std::filesystem::path& folder);
  /// Makes a file and opens it for writing; EEXIST where anything has that name already, a link too.
  virtual int open_new(const std::filesystem::path& file, int& descriptor);
  /// The disk begins with so much of a file while the rest of it is still written.
  static constexpr std::size_t kWrittenAtOnce = std::size_t{8} << 20;
  /// Writes all of `bytes`.
  virtual int write(int descriptor, std::string_view bytes);
  /// A failure may have dropped what was written, and a second call would not tell: never call it again on that file.
  virtual int fsync(int descriptor);
  /// `descriptor` is closed also where this fails.
  virtual int close(int descriptor);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  /// Two names change places in one step. EINVAL or ENOSYS: a file system that cannot.
  virtual int exchange(const std::filesystem::path& a, const std::filesystem::path& b);
  virtual int remove_file(const std::filesystem::path& file);
  virtual int remove_folder(const std::filesystem::path& folder);
  /// Names made, changed and removed in `folder` outlive a power loss. Done where a file system needs no such call.
  virtual int fsync_folder(const std::filesystem::path& folder);
  /// All names in `folder`, sorted.
  virtual int list(const std::filesystem::path& folder, std::vector<std::string>& names);
};

FileOperations& real_files();

/// Makes `folder` and what is missing above it; each new one is made known to its parent on the disk. 0 or errno.
/// Local.
int make_folders(FileOperations& files, const std::filesystem::path& folder);

/// fsyncs the folders above `folder`, up to the first in which this process may not write or that lies in another file
/// system. 0 or errno. Local.
int fsync_folders_above(FileOperations& files, const std::filesystem::path& folder);

/// Removes `path` and all below it, links themselves and not what they lead to. 0, also where nothing is there, or the
/// errno of the first failure; the rest is removed nevertheless. Local.
int remove_tree(FileOperations& files, const std::filesystem::path& path);

}  // namespace samegrad
