// What this machine has, as far as this process may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

struct Machine {
  std::string cpu = "unknown";     ///< model name
  std::string vendor = "unknown";  ///< GenuineIntel, AuthenticAMD
  std::vector<std::string> isa;    ///< those of sse4_2, avx, avx2, fma, avx512f, avx512_vnni, amx_tile that it has
  std::int64_t cores = 0;          ///< that this process may run on
  std::int64_t memory_total = 0;   ///< bytes; the smaller of the machine's and the control group's
  std::int64_t memory_free = 0;    ///< bytes that can be had without swapping
};

/// Fills cpu, vendor and isa from the text of /proc/cpuinfo. Local.
void read_cpuinfo(Machine& machine, std::string_view text);

/// Fills both memories from the text of /proc/meminfo. Local.
void read_meminfo(Machine& machine, std::string_view text);

/// Lowers both memories to a control group's: its limit ("max": none), what it uses, and how much of that is file cache
/// that the kernel can drop. Local.
void limit_memory(Machine& machine, std::string_view limit, std::int64_t used, std::int64_t droppable);

/// This machine, from /proc, /sys/fs/cgroup and the scheduler. What cannot be read stays as above. Local.
Machine this_machine();

/// Free bytes for a user in the file system of `folder`, or of its nearest parent that exists. Local.
std::optional<std::int64_t> free_disk(const std::filesystem::path& folder);

}  // namespace samegrad
