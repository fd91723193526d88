#include "samegrad/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

std::string kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view stage) {
  const auto refuse = [&](const std::string& reason) { throw InputError(stage, path.string() + ": " + reason); };
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    refuse(std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    refuse("is " + kind_of_file(info.st_mode) + "; a regular file is needed");
  }
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) {
    close(descriptor);
    return;
  }
  void* const address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  close(descriptor);
  if (address == MAP_FAILED) {
    refuse(std::string("cannot be mapped: ") + std::strerror(reason));
  }
  data_ = static_cast<const char*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<char*>(data_), size_);
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace samegrad
