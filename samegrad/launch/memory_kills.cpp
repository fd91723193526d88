#include "samegrad/launch/memory_kills.h"

#include <fstream>
#include <string>

namespace samegrad {
namespace {

std::int64_t count_in(const std::string& file) {
  std::ifstream events(file);
  std::string name;
  for (std::int64_t count = 0; events >> name >> count;) {
    if (name == "oom_kill") {
      return count;
    }
  }
  return 0;
}

}  // namespace

std::int64_t memory_kills_so_far() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(0, second);
    const std::string path = line.substr(second + 1);
    if (controllers == "0:") {
      if (const std::int64_t count = count_in("/sys/fs/cgroup" + path + "/memory.events"); count > 0) {
        return count;
      }
    } else if (controllers.ends_with(":memory")) {
      if (const std::int64_t count = count_in("/sys/fs/cgroup/memory" + path + "/memory.oom_control"); count > 0) {
        return count;
      }
    }
  }
  return 0;
}

}  // namespace samegrad
