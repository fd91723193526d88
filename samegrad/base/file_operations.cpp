#include "samegrad/base/file_operations.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace samegrad {
namespace {

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// A signal may come in between; it changes nothing of what is asked.
template <typename Call>
int without_interruption(const Call& call) {
  int reason = EINTR;
  while (reason == EINTR) reason = errno_of(call());
  return reason;
}

}  // namespace

int FileOperations::make_folder(const std::filesystem::path& folder) { return errno_of(mkdir(folder.c_str(), 0777)); }

int FileOperations::open_new(const std::filesystem::path& file, int& descriptor) {
  descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  return descriptor < 0 ? errno : 0;
}

int FileOperations::write(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kWrittenAtOnce));
    if (written < 0 && errno != EINTR) return errno;
    if (written == 0) return EIO;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    // The disk begins while the rest is still copied. A wish: errors are fsync's to tell, and remain for it.
    if (written == static_cast<ssize_t>(kWrittenAtOnce)) sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  return 0;
}

int FileOperations::fsync(int descriptor) {
  return without_interruption([&] { return ::fsync(descriptor); });
}

int FileOperations::close(int descriptor) {
  const int reason = errno_of(::close(descriptor));
  return reason == EINTR ? 0 : reason;  // Linux has closed it
}

int FileOperations::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return errno_of(std::rename(from.c_str(), to.c_str()));
}

int FileOperations::exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  return errno_of(renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE));
}

int FileOperations::remove_file(const std::filesystem::path& file) { return errno_of(unlink(file.c_str())); }

int FileOperations::remove_folder(const std::filesystem::path& folder) { return errno_of(rmdir(folder.c_str())); }

int FileOperations::fsync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int reason = without_interruption([&] { return ::fsync(descriptor); });
  ::close(descriptor);
  return reason == EINVAL ? 0 : reason;  // EINVAL: a file system that syncs no folders, and needs no such call
}

int FileOperations::list(const std::filesystem::path& folder, std::vector<std::string>& names) {
  names.clear();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  DIR* const stream = fdopendir(descriptor);
  if (stream == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    return reason;
  }
  errno = 0;
  while (const dirent* const entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const int reason = errno;
  closedir(stream);
  std::ranges::sort(names);
  return reason;
}

FileOperations& real_files() {
  static FileOperations files;
  return files;
}

int make_folders(FileOperations& files, const std::filesystem::path& folder) {
  const int reason = files.make_folder(folder);
  if (reason == 0) return files.fsync_folder(folder.parent_path());
  std::error_code ignored;
  if (reason == EEXIST) return std::filesystem::is_directory(folder, ignored) ? 0 : ENOTDIR;
  if (reason != ENOENT) return reason;
  // As in /proc: no folder can be made there.
  if (std::filesystem::is_directory(folder.parent_path(), ignored)) return ENOENT;
  const int above = make_folders(files, folder.parent_path());
  return above != 0 ? above : make_folders(files, folder);
}

int fsync_folders_above(FileOperations& files, const std::filesystem::path& folder) {
  struct stat own {};
  struct stat above {};
  if (stat(folder.c_str(), &own) != 0) return errno;
  std::filesystem::path path = folder;
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (stat(path.c_str(), &above) != 0 || above.st_dev != own.st_dev || access(path.c_str(), R_OK | W_OK) != 0)
      return 0;
    if (const int reason = files.fsync_folder(path); reason != 0) return reason;
  }
  return 0;
}

int remove_tree(FileOperations& files, const std::filesystem::path& path) {
  int first = files.remove_file(path);
  if (first == ENOENT) return 0;
  if (first != EISDIR && first != EPERM) return first;
  std::vector<std::string> names;
  first = files.list(path, names);
  for (const std::string& name : names) {
    const int reason = remove_tree(files, path / name);
    if (first == 0) first = reason;
  }
  const int reason = files.remove_folder(path);
  return first != 0 ? first : reason;
}

}  // namespace samegrad
