#include "samegrad/launch/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "samegrad/base/deadline.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

/// Between two looks at whether killed processes are gone.
constexpr milliseconds kBetweenLooks{2};
/// Where children that are to stay hide whether others are left.
constexpr int kQuietLooks = 5;

struct Process {
  int pid = 0;
  int parent = 0;
  bool zombie = false;
};

/// Of /proc/`pid`/stat: state and parent follow the last ')', for a program's name may hold anything.
Process read_process(int pid) {
  std::array<char, 512> text{};
  const int fd = open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t count = fd < 0 ? -1 : read(fd, text.data(), text.size());
  if (fd >= 0) {
    close(fd);
  }
  const std::string_view line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 4 >= line.size()) {
    return {};
  }
  const char state = line[name_end + 2];
  return {pid, std::atoi(line.data() + name_end + 4), state == 'Z' || state == 'X'};
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) {
    return processes;
  }
  while (const dirent* const entry = readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (const Process process = pid > 0 ? read_process(pid) : Process{}; process.pid > 0) {
      processes.push_back(process);
    }
  }
  closedir(folder);
  return processes;
}

std::vector<Process> descendants(std::span<const int> except) {
  const std::vector<Process> processes = all_processes();
  std::vector<Process> found;
  std::vector<int> parents{getpid()};
  while (!parents.empty()) {
    const int parent = parents.back();
    parents.pop_back();
    for (const Process& process : processes) {
      const bool known = std::ranges::find(found, process.pid, &Process::pid) != found.end();
      if (process.parent == parent && !known && std::ranges::find(except, process.pid) == except.end()) {
        found.push_back(process);
        parents.push_back(process.pid);
      }
    }
  }
  return found;
}

}  // namespace

OrphanKeeper::OrphanKeeper() {
  prctl(PR_GET_CHILD_SUBREAPER, &before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

OrphanKeeper::~OrphanKeeper() { prctl(PR_SET_CHILD_SUBREAPER, before_); }

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::vector<int> children_of_this_process() {
  std::vector<int> children;
  if (!has_children()) {
    return children;
  }
  for (const Process& process : all_processes()) {
    if (process.parent == getpid()) {
      children.push_back(process.pid);
    }
  }
  return children;
}

void signal_descendants(int signal, std::span<const int> except) {
  for (const Process& process : descendants(except)) {
    kill(process.pid, signal);
  }
}

bool kill_descendants(milliseconds at_most, std::span<const int> except, milliseconds grace) {
  const Deadline deadline(at_most);
  const Deadline grace_end(grace);
  // One look over /proc is no snapshot: it misses a process whose parent ends and is reaped meanwhile. An orphan
  // becomes a child of this process in the same instant, so without children there is no descendant.
  for (int quiet_looks = 0; except.empty() ? has_children() : quiet_looks < kQuietLooks; ++quiet_looks) {
    for (const Process& process : descendants(except)) {
      quiet_looks = -1;
      if (!process.zombie && grace_end.passed()) {
        kill(process.pid, SIGKILL);
      } else if (process.zombie && process.parent == getpid()) {
        waitpid(process.pid, nullptr, WNOHANG);
      }
    }
    if (deadline.passed()) {
      return false;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

}  // namespace samegrad
