// The one way in which a file that somebody names is opened for reading: a FIFO does not hang, a device is not read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace samegrad {

/// An open descriptor, which the caller closes, and the size that the file had.
struct RegularFile {
  int descriptor = -1;
  std::int64_t bytes = 0;
};

/// Opens `path` for reading; a link is followed. Throws InputError (stage `stage`) naming file and reason where it is
/// missing, unreadable or not a regular file, or its name holds a NUL byte. Never waits for another process. Local.
RegularFile open_regular_file(const std::filesystem::path& path, std::string_view stage);

}  // namespace samegrad
