// What a launcher hands to the processes it starts: who they are, and where they meet.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/launcher_variables.h"

namespace samegrad {

class StatusWriter;

/// Number of an inherited file descriptor made by create_shared_memory().
inline constexpr const char* kSharedMemoryVariable = "SAMEGRAD_SHM_FD";
/// Number of an inherited file descriptor made by create_store_file().
inline constexpr const char* kStoreFileVariable = "SAMEGRAD_STORE_FD";
inline constexpr const char* kMasterAddressVariable = "MASTER_ADDR";
inline constexpr const char* kMasterPortVariable = "MASTER_PORT";

/// More processes than this are refused: a mistake rather than a wish.
inline constexpr int kMostLocalProcesses = 256;

/// Where ranks of torchrun, and of others that speak as torch.distributed's env:// does, leave notes for each other.
struct LauncherStore {
  std::string host;
  int port = 0;
  bool kept_by_launcher = false;  ///< false: rank 0 keeps it
  std::string prefix;             ///< of all keys; another one after each restart of the ranks

  bool operator==(const LauncherStore&) const = default;
};

/// A process's place in its run. The defaults are a process that nobody launched.
struct WorkerEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int shared_memory_fd = -1;             ///< -1: none
  int store_fd = -1;                     ///< -1: none
  std::optional<LauncherStore> store{};  ///< with several ranks and neither of the two
  std::string launcher{};                ///< for messages, where there is a store or a store file
  std::string store_file{};              ///< path of a file where ranks of one host meet; "": none

  bool operator==(const WorkerEnvironment&) const = default;
};

/// Looks into the process's own environment. Local.
std::optional<std::string> process_environment(const std::string& name);

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and where the ranks meet: SAMEGRAD_SHM_FD, SAMEGRAD_STORE_FD,
/// or MASTER_ADDR and MASTER_PORT. Without RANK, the place that mpirun, mpiexec or srun gave: these ranks meet at
/// MASTER_ADDR and MASTER_PORT, or, on one host and without these, in a file named by the launcher's job. Throws
/// InputError (stage "launch") where a value is no number, values contradict one another or another launcher's, or
/// several processes were started that cannot find each other. Local.
WorkerEnvironment read_worker_environment(const EnvironmentLookup& lookup = process_environment);

/// An anonymous file (close-on-exec) that holds the shared memory of `world_size` processes of this host; its size is
/// sealed. The caller owns the descriptor. Throws RunError naming sizes and reason. Local.
int create_shared_memory(int world_size);

/// An anonymous empty file (close-on-exec) in which processes of this host leave notes for each other. The caller owns
/// the descriptor. Throws RunError. Local.
int create_store_file();

/// The communicator over the shared memory behind `fd`, which it closes. Returns when all ranks have joined; throws
/// InputError where the descriptor is not what it should be, else as Communicator::barrier with `join_timeout`.
/// `status`: the record of this rank, where it has one already. Collective.
std::unique_ptr<Communicator> join_shared_memory(int fd, int rank, int world_size,
                                                 std::chrono::milliseconds join_timeout,
                                                 std::shared_ptr<StatusWriter> status = nullptr);

}  // namespace samegrad
