#include "samegrad/data/data_file.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/regular_file.h"

namespace samegrad {

DataFile::DataFile(std::filesystem::path path) : path_(std::move(path)) {
  const RegularFile file = open_regular_file(path_, "data");
  descriptor_ = file.descriptor;
  size_ = file.bytes;
}

DataFile::~DataFile() { close(descriptor_); }

FileFacts DataFile::facts() const {
  struct stat info {};
  if (fstat(descriptor_, &info) != 0) {
    throw InputError("data", path_.string() + ": its facts cannot be read: " + std::strerror(errno));
  }
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_nsec};
  };
  return {.device = static_cast<std::int64_t>(info.st_dev),
          .inode = static_cast<std::int64_t>(info.st_ino),
          .bytes = info.st_size,
          .written_ns = nanoseconds(info.st_mtim),
          .changed_ns = nanoseconds(info.st_ctim)};
}

bool DataFile::later_writes_show() const {
  struct statfs system {};
  if (fstatfs(descriptor_, &system) != 0 || system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) return false;
  return fsync(descriptor_) == 0;
}

std::size_t DataFile::read_at(std::int64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count =
        pread(descriptor_, into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw InputError("data", path_.string() + ": cannot be read: " + std::strerror(errno));
    }
    if (count == 0) {
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace samegrad
