#include "samegrad/data/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {

DataFile::DataFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw InputError("data", path_.string() + ": cannot be opened: " + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor_);
    throw InputError("data", path_.string() + ": is a folder, pipe or device; a regular file is needed");
  }
  size_ = info.st_size;
}

DataFile::~DataFile() { close(descriptor_); }

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
