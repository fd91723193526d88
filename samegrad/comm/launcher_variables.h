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

/// What mpirun, mpiexec or srun say beside the place that was read from RANK and WORLD_SIZE: they may have started the
/// same ranks, one launcher a host, or one process in all. Throws InputError naming both variables where it is none
/// of these. Local.
void refuse_contradicting_launchers(const EnvironmentLookup& lookup, int rank, int world_size);

/// Without RANK and WORLD_SIZE: throws InputError where mpirun, mpiexec or srun started several processes, for each of
/// these would take itself for the only one. Local.
void refuse_foreign_launchers(const EnvironmentLookup& lookup);

}  // namespace samegrad
