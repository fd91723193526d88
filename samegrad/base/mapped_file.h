// A regular file mapped read-only: pages are shared between processes and dropped by the kernel when memory is short.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace samegrad {

class MappedFile {
 public:
  /// Maps `path`. Throws InputError (stage `stage`) naming file and reason when it is missing, unreadable or not a
  /// regular file. An empty file gives an empty view. Local.
  MappedFile(const std::filesystem::path& path, std::string_view stage);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace samegrad
