#include "samegrad/launch/command_line_name.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace samegrad {

void rename_command_line(std::string_view name) {
  std::ifstream file("/proc/self/cmdline");
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  char* const start = program_invocation_name;  // main()'s first argument, which the others follow
  if (before.empty() || std::string_view(start) != before.c_str()) {
    return;
  }
  std::memset(start, 0, before.size());
  std::copy_n(name.data(), std::min(name.size(), before.size() - 1), start);
}

}  // namespace samegrad
