#include "samegrad/base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/regular_file.h"

namespace samegrad {
MappedFile::MappedFile(const std::filesystem::path& path, std::string_view stage) {
  const auto [descriptor, bytes] = open_regular_file(path, stage);
  size_ = static_cast<std::size_t>(bytes);
  if (size_ == 0) {
    close(descriptor);
    return;
  }
  void* const address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  close(descriptor);
  if (address == MAP_FAILED) {
    throw InputError(stage, path.string() + ": cannot be mapped: " + std::strerror(reason));
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
