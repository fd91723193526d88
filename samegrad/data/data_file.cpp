#include "samegrad/data/data_file.h"

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
