#include "samegrad/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "samegrad/base/error.h"

namespace samegrad {

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view stage) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw RunError(stage,
                   folder.string() + ": " + std::strerror(errno) + "; give a folder that can be written with --run");
  }
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    close(descriptor_);
    // A file system without locks (ENOLCK, ENOTSUP) is no reason not to train.
    descriptor_ = -1;
    if (held) {
      throw InputError(stage, folder.string() + ": a training works in this folder; wait for its end, or give " +
                                  "another folder with --run");
    }
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace samegrad
