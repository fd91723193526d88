#include "apps/samegrad/machine.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "samegrad/base/allowed_cores.h"

namespace samegrad {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// What stands behind `name` and `separator` on the first line that begins with `name`.
std::string_view line_value(std::string_view text, std::string_view name, std::string_view separator) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t end = line.find(separator);
    if (end != std::string_view::npos && trimmed(line.substr(0, end)) == name) {
      return trimmed(line.substr(end + separator.size()));
    }
  }
  return "";
}

/// The number at the beginning of `text`, 0 where there is none.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string file_text(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

void read_cpuinfo(Machine& machine, std::string_view text) {
  if (const std::string_view model = line_value(text, "model name", ":"); !model.empty()) {
    machine.cpu = model;
  }
  if (const std::string_view vendor = line_value(text, "vendor_id", ":"); !vendor.empty()) {
    machine.vendor = vendor;
  }
  constexpr std::array<const char*, 7> kShown{"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "amx_tile"};
  const std::string flags = " " + std::string(line_value(text, "flags", ":")) + " ";
  for (const char* flag : kShown) {
    if (flags.find(" " + std::string(flag) + " ") != std::string::npos) {
      machine.isa.emplace_back(flag);
    }
  }
}

void read_meminfo(Machine& machine, std::string_view text) {
  machine.memory_total = leading_number(line_value(text, "MemTotal", ":")) * 1024;
  machine.memory_free = leading_number(line_value(text, "MemAvailable", ":")) * 1024;
}

void limit_memory(Machine& machine, std::string_view limit, std::int64_t used, std::int64_t droppable) {
  const std::int64_t most = leading_number(trimmed(limit));
  if (most <= 0) {
    return;
  }
  machine.memory_total = std::min(machine.memory_total, most);
  machine.memory_free = std::min(machine.memory_free, std::max<std::int64_t>(0, most - used + droppable));
}

Machine this_machine() {
  Machine machine;
  read_cpuinfo(machine, file_text("/proc/cpuinfo"));
  read_meminfo(machine, file_text("/proc/meminfo"));
  limit_memory(machine, file_text("/sys/fs/cgroup/memory.max"),
               leading_number(file_text("/sys/fs/cgroup/memory.current")),
               leading_number(line_value(file_text("/sys/fs/cgroup/memory.stat"), "inactive_file", " ")));
  machine.cores = allowed_cores();
  return machine;
}

std::optional<std::int64_t> free_disk(const std::filesystem::path& folder) {
  std::filesystem::path existing = std::filesystem::absolute(folder);
  std::error_code error;
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs info {};
  if (statvfs(existing.c_str(), &info) != 0) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
}

}  // namespace samegrad
