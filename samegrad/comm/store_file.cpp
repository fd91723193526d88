#include "samegrad/comm/store_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr const char* kStage = "launch";

int open_own_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    throw RunError(kStage, path + ": the file where the ranks meet cannot be opened: " + std::strerror(errno));
  }
  struct stat found {};
  const bool known = fstat(fd, &found) == 0;
  if (!known || !S_ISREG(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    close(fd);
    throw InputError(kStage, path +
                                 ": the ranks would meet in this file, but it is not a file of this user's that "
                                 "only they can read and write (mode 0600); remove it");
  }
  return fd;
}

}  // namespace

StoreFile::StoreFile(std::string path, bool removes)
    : path_(std::move(path)), removes_(removes), fd_(open_own_file(path_)) {}

StoreFile::StoreFile(StoreFile&& other) noexcept
    : path_(std::move(other.path_)),
      removes_(std::exchange(other.removes_, false)),
      fd_(std::exchange(other.fd_, -1)) {}

StoreFile::~StoreFile() {
  remove_name();
  if (fd_ >= 0) {
    close(fd_);
  }
}

int StoreFile::release_fd() { return std::exchange(fd_, -1); }

void StoreFile::remove_name() {
  if (std::exchange(removes_, false)) {
    unlink(path_.c_str());
  }
}

std::string store_file_folder(const std::string& runtime_folder) {
  const bool usable = !runtime_folder.empty() && access(runtime_folder.c_str(), W_OK | X_OK) == 0;
  return usable ? runtime_folder : "/dev/shm";
}

}  // namespace samegrad
