#include "samegrad/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::chrono::milliseconds kEndOfKilled{1'000};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view stage) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw RunError(stage,
                   folder.string() + ": " + std::strerror(errno) + "; give a folder that can be written with --run");
  }
  // The processes of a training that was killed need some time to end.
  int taken = flock(descriptor_, LOCK_EX | LOCK_NB);
  for (const Deadline deadline(kEndOfKilled); taken != 0 && errno == EWOULDBLOCK && !deadline.passed();) {
    std::this_thread::sleep_for(kBetweenLooks);
    taken = flock(descriptor_, LOCK_EX | LOCK_NB);
  }
  if (taken != 0) {
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
