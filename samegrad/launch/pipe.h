// A pipe that is closed when it goes, and writing to one.
#pragma once

#include <array>
#include <string_view>

namespace samegrad {

/// Both ends are close-on-exec; what is still open is closed at the end.
struct Pipe {
  /// Throws RunError. Local.
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(std::size_t end);
  /// The descriptor, which is the caller's from now on.
  int release_end(std::size_t end);

  std::array<int, 2> ends{-1, -1};  ///< read, write
};

/// False where it cannot be written. Local.
bool write_whole(int fd, std::string_view text);

}  // namespace samegrad
