#include "samegrad/launch/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr const char* kName = "samegrad-launch-";
constexpr const char* kLock = "lock";

bool take_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// So long an empty folder may be one that is just being made.
constexpr std::time_t kBeingMadeSeconds = 60;

/// Empty, and old: its launcher was killed before it had a lock.
bool never_locked(const std::filesystem::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kBeingMadeSeconds;
}

void remove_abandoned(const std::filesystem::path& place) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(place, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kName)) {
      continue;
    }
    const int fd = open((entry->path() / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
      std::error_code ignored;
      if (take_lock(fd)) {
        std::filesystem::remove_all(entry->path(), ignored);
      }
      close(fd);
    } else if (errno == ENOENT && never_locked(entry->path())) {
      rmdir(entry->path().c_str());  // fails where there is anything in it
    }
  }
}

}  // namespace

PrivateFolder::PrivateFolder() {
  const char* const variable = std::getenv("TMPDIR");
  const std::string temporary = variable == nullptr || *variable == '\0' ? "/tmp" : variable;
  if (!make_in("/dev/shm") && !make_in(temporary)) {
    throw RunError("launch", "no folder for the workers' records in /dev/shm or " + temporary + ": " +
                                 std::strerror(errno) + "; set TMPDIR to a folder that can be written");
  }
}

bool PrivateFolder::make_in(const std::filesystem::path& place) {
  remove_abandoned(place);
  std::string name = (place / (std::string(kName) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    return false;
  }
  path_ = name;
  lock_fd_ = open((path_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat status {};
  if (lock_fd_ >= 0 && take_lock(lock_fd_) && fstat(lock_fd_, &status) == 0 && status.st_nlink > 0) {
    return true;
  }
  const bool again = lock_fd_ >= 0;  // another launcher took it for abandoned in this very moment
  if (again) {
    close(lock_fd_);
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  return again && make_in(place);
}

PrivateFolder::~PrivateFolder() {
  remove();
  close(lock_fd_);
}

void PrivateFolder::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace samegrad
