#include "samegrad/comm/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace samegrad {
namespace {

struct ProcessStat {
  char state = '?';
  std::uint64_t start_time = 0;
};

// Field 2 is the program's name in parentheses and may hold anything, so the fields are counted from the last ')'.
std::optional<ProcessStat> read_process_stat(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) {
    fields >> skipped;
  }
  fields >> stat.start_time;
  return fields ? std::optional(stat) : std::nullopt;
}

}  // namespace

std::uint64_t process_start_time(int pid) { return read_process_stat(pid).value_or(ProcessStat{}).start_time; }

char process_state(int pid) { return read_process_stat(pid).value_or(ProcessStat{}).state; }

bool process_is_stopped(int pid) {
  const char state = process_state(pid);
  return state == 'T' || state == 't';
}

ProcessWatch::ProcessWatch(int pid, std::uint64_t start_time)
    : pid_(pid), start_time_(start_time), pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
  // Compared after the pidfd is open: from here on the two cannot part.
  gone_at_start_ = pidfd_ < 0 && errno == ESRCH;
  const std::uint64_t found = process_start_time(pid);
  gone_at_start_ = gone_at_start_ || (start_time != 0 && found != 0 && found != start_time);
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept
    : pid_(other.pid_),
      start_time_(other.start_time_),
      pidfd_(std::exchange(other.pidfd_, -1)),
      gone_at_start_(other.gone_at_start_) {}

ProcessWatch::~ProcessWatch() {
  if (pidfd_ >= 0) {
    close(pidfd_);
  }
}

bool ProcessWatch::send(int signal) const {
  if (ended()) {
    return false;
  }
  const long sent = pidfd_ >= 0 ? syscall(SYS_pidfd_send_signal, pidfd_, signal, nullptr, 0) : kill(pid_, signal);
  return sent == 0;
}

bool ProcessWatch::ended() const {
  if (gone_at_start_) {
    return true;
  }
  if (pidfd_ >= 0) {
    pollfd poll_fd{pidfd_, POLLIN, 0};
    return poll(&poll_fd, 1, 0) == 1;
  }
  if (kill(pid_, 0) != 0 && errno == ESRCH) {
    return true;
  }
  const std::optional<ProcessStat> stat = read_process_stat(pid_);
  return stat && (stat->state == 'Z' || stat->state == 'X' || (start_time_ != 0 && stat->start_time != start_time_));
}

}  // namespace samegrad
