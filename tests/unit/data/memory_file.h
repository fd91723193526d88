// A large file that no disk has to write: a memfd, opened through /proc.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace samegrad {

class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("samegrad-test", MFD_CLOEXEC)) {}
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written < 0) throw std::runtime_error("a memfd cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace samegrad
