#include "samegrad/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

std::string kind_of_file(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

}  // namespace

RegularFile open_regular_file(const std::filesystem::path& path, std::string_view stage) {
  const auto refuse = [&](const std::string& reason) { throw InputError(stage, path.string() + ": " + reason); };
  // The kernel takes a NUL for the name's end, and would open another file than the one named.
  if (path.native().find('\0') != std::string::npos) {
    throw InputError(stage, std::string(path.c_str()) + "\\0...: a file's name cannot hold a NUL byte");
  }
  // O_NONBLOCK: opening a FIFO would wait for a writer. O_NOCTTY: a terminal would become this process's.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    // A socket cannot be opened at all; the name says more than errno's text.
    refuse(errno == ENXIO ? "is a socket or a device; a regular file is needed"
                          : std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    refuse("is " + kind_of_file(info.st_mode) + "; a regular file is needed");
  }
  return {.descriptor = descriptor, .bytes = info.st_size};
}

int open_for_appending(const std::filesystem::path& path, std::string_view stage) {
  // O_NONBLOCK: opening a FIFO would wait for a reader.
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  const int descriptor = open(path.c_str(), flags, 0666);
  const int reason = errno;
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (descriptor >= 0) close(descriptor);
    throw InputError(stage, path.string() + ": is " + kind_of_file(info.st_mode) +
                                "; a run writes to regular files of its own: move it away");
  }
  if (descriptor < 0) {
    throw RunError(stage, path.string() + ": cannot be opened for writing: " + std::strerror(reason));
  }
  return descriptor;
}

}  // namespace samegrad
