// What a launcher hands to the processes it starts: who they are, and the shared memory through which they talk.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "samegrad/comm/communicator.h"

namespace samegrad {

inline constexpr const char* kRankVariable = "RANK";
inline constexpr const char* kWorldSizeVariable = "WORLD_SIZE";
inline constexpr const char* kLocalRankVariable = "LOCAL_RANK";
inline constexpr const char* kLocalWorldSizeVariable = "LOCAL_WORLD_SIZE";
/// Number of an inherited file descriptor made by create_shared_memory().
inline constexpr const char* kSharedMemoryVariable = "SAMEGRAD_SHM_FD";

/// More processes than this on one host are refused: a mistake rather than a wish.
inline constexpr int kMostLocalProcesses = 256;

/// A process's place in its run. The defaults are a process that nobody launched.
struct WorkerEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int shared_memory_fd = -1;  ///< -1: none

  bool operator==(const WorkerEnvironment&) const = default;
};

/// Value of an environment variable, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Looks into the process's own environment. Local.
std::optional<std::string> process_environment(const std::string& name);

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and SAMEGRAD_SHM_FD. Throws InputError (stage "launch") where a
/// value is no number, values contradict one another, or another launcher started several processes. Local.
WorkerEnvironment read_worker_environment(const EnvironmentLookup& lookup = process_environment);

/// An anonymous file (close-on-exec) that holds the shared memory of `world_size` processes of this host; its size is
/// sealed. The caller owns the descriptor. Throws RunError naming sizes and reason. Local.
int create_shared_memory(int world_size);

/// The communicator for `environment`: alone, or over the inherited shared memory (whose descriptor it closes). Returns
/// when all ranks have joined; throws InputError where the descriptor is not what it should be, else as
/// Communicator::barrier with `join_timeout`. Collective.
std::unique_ptr<Communicator> communicator_from_environment(const WorkerEnvironment& environment,
                                                            std::chrono::milliseconds join_timeout);

}  // namespace samegrad
