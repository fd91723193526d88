#include "samegrad/comm/launcher_process.h"

#include <unistd.h>

#include <fstream>

#include "samegrad/comm/process_watch.h"

namespace samegrad {
namespace {

/// False too where /proc does not tell: a launcher may belong to another user.
bool started_with(int pid, const std::string& variable) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(variable + "=")) {
      return true;
    }
  }
  return false;
}

/// 0 where /proc does not tell.
int parent_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kParent = "PPid:\t";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kParent)) {
      return std::stoi(line.substr(kParent.size()));
    }
  }
  return 0;
}

}  // namespace

std::string launcher_process(const std::string& rank_variable) {
  int pid = getppid();
  while (pid > 1 && started_with(pid, rank_variable)) {
    pid = parent_of(pid);
  }
  return std::to_string(pid) + " " + std::to_string(process_start_time(pid));
}

}  // namespace samegrad
