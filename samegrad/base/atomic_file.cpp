#include "samegrad/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

std::string free_bytes_text(const std::filesystem::path& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) {
    return "an unknown number of";
  }
  return std::to_string(static_cast<unsigned long long>(info.f_bavail) * info.f_frsize);
}

[[noreturn]] void throw_write_error(const std::filesystem::path& path, std::string_view operation, int reason,
                                    std::size_t needed) {
  throw RunError("write", path.string() + ": " + std::string(operation) + ": " + std::strerror(reason) + "; needs " +
                              std::to_string(needed) + " bytes, " + free_bytes_text(path.parent_path()) +
                              " bytes are free there");
}

/// The file being written: closed and removed unless `renamed`.
struct TemporaryFile {
  std::filesystem::path path;
  int descriptor = -1;
  bool renamed = false;

  TemporaryFile(std::filesystem::path where, int open_descriptor)
      : path(std::move(where)), descriptor(open_descriptor) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor >= 0) {
      close(descriptor);
    }
    if (!renamed) {
      unlink(path.c_str());
    }
  }
};

/// Returns 0 or the errno of the first failure; a write may take fewer bytes than it was given.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path target = std::filesystem::absolute(path);
  const std::filesystem::path folder = target.parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw_write_error(target, "creating the folder", error.value(), bytes.size());
  }

  const std::filesystem::path beside = folder / ("." + target.filename().string() + ".tmp-" + std::to_string(getpid()));
  // Not O_EXCL: a file of this name is what a killed process with the same id left.
  const int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) {
    throw_write_error(target, "opening a temporary file beside it", errno, bytes.size());
  }
  TemporaryFile temporary(beside, descriptor);

  if (const int reason = write_all(descriptor, bytes); reason != 0) {
    throw_write_error(target, "writing", reason, bytes.size());
  }
  if (fsync(descriptor) != 0) {
    throw_write_error(target, "fsync", errno, bytes.size());
  }
  temporary.descriptor = -1;
  if (close(descriptor) != 0) {
    throw_write_error(target, "closing", errno, bytes.size());
  }
  if (rename(beside.c_str(), target.c_str()) != 0) {
    throw_write_error(target, "renaming", errno, bytes.size());
  }
  temporary.renamed = true;
  fsync_folder(folder);
}

void fsync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    throw RunError("write", folder.string() + ": opening the folder: " + std::strerror(errno));
  }
  const int reason = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // EINVAL: a file system that cannot sync folders, and needs no such call.
  if (reason != 0 && reason != EINVAL) {
    throw RunError("write", folder.string() + ": fsync of the folder: " + std::strerror(reason));
  }
}

}  // namespace samegrad
