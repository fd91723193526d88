#include "samegrad/launch/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "samegrad/base/error.h"

namespace samegrad {

Pipe::Pipe() {
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw RunError("launch", std::string("pipe: ") + std::strerror(errno));
  }
}

Pipe::~Pipe() {
  close_end(0);
  close_end(1);
}

void Pipe::close_end(std::size_t end) {
  if (ends[end] >= 0) {
    close(release_end(end));
  }
}

int Pipe::release_end(std::size_t end) { return std::exchange(ends[end], -1); }

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace samegrad
