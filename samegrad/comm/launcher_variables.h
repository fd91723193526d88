// The variables with which launchers tell a process its place, read one at a time and against one another.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace samegrad {

inline constexpr const char* kRankVariable = "RANK";
inline constexpr const char* kWorldSizeVariable = "WORLD_SIZE";
inline constexpr const char* kLocalRankVariable = "LOCAL_RANK";
inline constexpr const char* kLocalWorldSizeVariable = "LOCAL_WORLD_SIZE";
/// torchrun's number of launchers: one a host.
inline constexpr const char* kGroupWorldSizeVariable = "GROUP_WORLD_SIZE";

/// Value of an environment variable, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The whole number of at least 0 in a variable; nothing where it is not set. Throws InputError where it is no such
/// number. Local.
std::optional<int> read_number(const EnvironmentLookup& lookup, const char* name);

/// Throws InputError that names both variables, their values and `allowed`. Local.
[[noreturn]] void refuse_pair(const char* name, int value, const char* other, int other_value,
                              const std::string& allowed);

/// Where mpirun, mpiexec or srun put this process, one of several.
struct LauncherPlace {
  std::string launcher;  ///< "mpirun", "mpiexec", "srun"
  const char* size_variable = nullptr;
  const char* rank_variable = nullptr;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = -1;  ///< -1: the launcher does not say how many run on this host
  std::string job;            ///< the same for the ranks of one start on one host, another for every other start
};

/// What mpirun, mpiexec or srun say beside the place that was read from the variables of `read`: they may have started
/// the same ranks, one launcher a host, or one process in all. Throws InputError naming both variables where it is none
/// of these. Local.
void refuse_contradicting_launchers(const EnvironmentLookup& lookup, const LauncherPlace& read);

/// The place by the variables of mpirun (OMPI_COMM_WORLD_*), mpiexec (PMI_*) or srun (SLURM_*); nothing where none of
/// them started several processes. Throws InputError where one did but does not say which of them this one is. Local.
std::optional<LauncherPlace> read_launcher_place(const EnvironmentLookup& lookup);

}  // namespace samegrad
