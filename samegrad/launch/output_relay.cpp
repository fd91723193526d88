#include "samegrad/launch/output_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/launch/pipe.h"
#include "samegrad/launch/stream_modes.h"

namespace samegrad {
namespace {

/// No more is read while so much waits for the launcher's own output.
constexpr std::size_t kMostWaiting = std::size_t{256} << 10;
/// What a pipe takes without blocking once poll() calls it writable (PIPE_BUF).
constexpr std::size_t kSafeWrite = 4'096;

int open_log(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const int fd = error ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    throw InputError("launch", "--log-dir: " + path.string() + ": " + (error ? error.message() : std::strerror(errno)) +
                                   "; give a folder that can be written");
  }
  return fd;
}

void close_fd(int& fd) {
  if (fd >= 0) {
    close(std::exchange(fd, -1));
  }
}

}  // namespace

void OutputRelay::Sink::write_some() {
  std::size_t done = 0;
  while (!closed && done < waiting.size()) {
    pollfd room{fd, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1) {
      break;
    }
    const ssize_t count = write(fd, waiting.data() + done, std::min(kSafeWrite, waiting.size() - done));
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      closed = true;
    } else if (count <= 0) {
      break;
    } else {
      done += static_cast<std::size_t>(count);
    }
  }
  if (closed) {
    waiting.clear();
  } else {
    waiting.erase(0, done);
  }
}

OutputRelay::OutputRelay(const OutputOptions& options, int processes, int attempt)
    : outputs_(static_cast<std::size_t>(processes)), errors_(static_cast<std::size_t>(processes)) {
  const bool logs = !options.log_folder.empty();
  const bool chosen = !options.redirects.empty() || !options.tee.empty();
  const std::vector<int> redirects = parse_stream_modes("--redirects", options.redirects, processes);
  const std::vector<int> tees = parse_stream_modes("--tee", logs && !chosen ? "3" : options.tee, processes);
  output_.fd = STDOUT_FILENO;
  error_.fd = STDERR_FILENO;
  for (int rank = 0; rank < processes; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    outputs_[index].rank = errors_[index].rank = rank;
    outputs_[index].sink = &output_;
    errors_[index].sink = &error_;
    const auto open_one = [&](Source& source, int bit, const char* file) {
      const bool tee = (tees[index] & bit) != 0;
      const bool redirect = (redirects[index] & bit) != 0 && !tee;
      open_source(source, options, logs && (tee || redirect), !redirect, file, attempt);
    };
    open_one(outputs_[index], kOutputBit, "stdout.log");
    open_one(errors_[index], kErrorBit, "stderr.log");
  }
}

void OutputRelay::open_source(Source& source, const OutputOptions& options, bool to_file, bool to_console,
                              const char* file, int attempt) {
  if (to_file) {
    const std::filesystem::path path =
        options.log_folder / ("attempt_" + std::to_string(attempt)) / ("rank-" + std::to_string(source.rank)) / file;
    source.log_fd = open_log(path);
    source.log_path = path.string();
  }
  if (!to_console) {
    source.worker_fd = std::exchange(source.log_fd, -1);
    source.sink = nullptr;
  } else if (options.fd >= 0) {
    source.worker_fd = fcntl(options.fd, F_DUPFD_CLOEXEC, 0);
  } else if (to_file || options.prefix) {
    Pipe pipe;
    source.read_fd = pipe.release_end(0);
    source.worker_fd = pipe.release_end(1);
    fcntl(source.read_fd, F_SETFL, O_NONBLOCK);
    source.relayed = true;
    source.lines = OutputLines(options.prefix ? "[rank " + std::to_string(source.rank) + "] " : "");
  }
}

OutputRelay::~OutputRelay() {
  for (std::vector<Source>* const sources : {&outputs_, &errors_}) {
    for (Source& source : *sources) {
      close_fd(source.read_fd);
      close_fd(source.worker_fd);
      close_fd(source.log_fd);
    }
  }
}

int OutputRelay::output_fd(int rank) const { return outputs_[static_cast<std::size_t>(rank)].worker_fd; }

int OutputRelay::error_fd(int rank) const { return errors_[static_cast<std::size_t>(rank)].worker_fd; }

void OutputRelay::let_go() {
  for (std::vector<Source>* const sources : {&outputs_, &errors_}) {
    for (Source& source : *sources) {
      close_fd(source.worker_fd);
    }
  }
}

void OutputRelay::add_polls(std::vector<pollfd>& polls) const {
  for (const Sink* const sink : {&output_, &error_}) {
    if (!sink->waiting.empty()) {
      polls.push_back({sink->fd, POLLOUT, 0});
    }
  }
  for (const std::vector<Source>* const sources : {&outputs_, &errors_}) {
    for (const Source& source : *sources) {
      if (source.read_fd >= 0 && source.sink->waiting.size() < kMostWaiting) {
        polls.push_back({source.read_fd, POLLIN, 0});
      }
    }
  }
}

/// False where nothing can be read now.
bool OutputRelay::take_from(Source& source) {
  std::array<char, 16'384> buffer{};
  const ssize_t count = source.read_fd < 0 ? -1 : read(source.read_fd, buffer.data(), buffer.size());
  if (count == 0) {
    read_end(source);
  }
  if (count <= 0) {
    return false;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
  if (source.log_fd >= 0 && !write_whole(source.log_fd, bytes)) {
    close_fd(source.log_fd);
  }
  source.lines.take(bytes, source.sink->waiting);
  if (source.sink->closed) {
    source.sink->waiting.clear();
  }
  return true;
}

void OutputRelay::read_end(Source& source) {
  source.lines.finish(source.sink->waiting);
  close_fd(source.read_fd);
}

void OutputRelay::move() {
  for (std::vector<Source>* const sources : {&outputs_, &errors_}) {
    for (Source& source : *sources) {  // one piece of each: none goes short because another one floods
      if (source.sink != nullptr && source.sink->waiting.size() < kMostWaiting) {
        take_from(source);
      }
    }
  }
  output_.write_some();
  error_.write_some();
}

void OutputRelay::say(std::string_view line) {
  if (!error_.closed) {
    error_.waiting.append(line).append("\n");
  }
  error_.write_some();
}

std::size_t OutputRelay::waiting() const { return output_.waiting.size() + error_.waiting.size(); }

void OutputRelay::finish() {
  for (std::vector<Source>* const sources : {&outputs_, &errors_}) {
    for (Source& source : *sources) {
      while (take_from(source)) {
      }
      if (source.read_fd >= 0) {
        read_end(source);
      }
    }
  }
  move();
}

void OutputRelay::drop() {
  output_.closed = error_.closed = true;
  move();
}

std::optional<std::string> OutputRelay::last_error_line(int rank) const {
  const Source& source = errors_[static_cast<std::size_t>(rank)];
  return source.relayed ? std::optional(source.lines.last_line()) : std::nullopt;
}

std::string OutputRelay::error_log(int rank) const { return errors_[static_cast<std::size_t>(rank)].log_path; }

}  // namespace samegrad
