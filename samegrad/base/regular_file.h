// The one way in which a file that somebody names is opened for reading, or a run's own for appending: a FIFO does not
// hang, a device is not read, and nothing is written through a link.
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

/// Opens a run's own file for appending, made where it is missing. Throws InputError (stage `stage`) where a link or
/// anything but a regular file is there: a folder from somebody else must not choose what is written to. Throws
/// RunError where it cannot be opened. The caller closes the descriptor. Local.
int open_for_appending(const std::filesystem::path& path, std::string_view stage);

}  // namespace samegrad
