#include "samegrad/comm/environment.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"
#include "samegrad/comm/store_file.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "launch";
constexpr std::string_view kWhatToDo = "start processes with `samegrad train --nproc N` or torchrun";

std::string assignment(const char* name, int value) { return std::string(name) + "=" + std::to_string(value); }

[[noreturn]] void refuse_missing(const char* missing, const char* there, std::string_view why) {
  throw InputError(kStage, std::string(missing) + " is not set, but " + there + " is: " + std::string(why) + "; " +
                               std::string(kWhatToDo));
}

void check_rank(const char* rank_name, int rank, const char* size_name, int world_size) {
  if (world_size < 1 || world_size > kMostLocalProcesses) {
    throw InputError(kStage,
                     assignment(size_name, world_size) + ": allowed is 1 to " + std::to_string(kMostLocalProcesses));
  }
  if (rank >= world_size) {
    refuse_pair(rank_name, rank, size_name, world_size, "a rank is below the world size");
  }
}

void check_place(const WorkerEnvironment& worker) {
  check_rank(kRankVariable, worker.rank, kWorldSizeVariable, worker.world_size);
  if (worker.local_world_size < 1 || worker.local_world_size > worker.world_size) {
    refuse_pair(kLocalWorldSizeVariable, worker.local_world_size, kWorldSizeVariable, worker.world_size,
                "a host has 1 to all of the ranks");
  }
  const bool one_host = worker.local_world_size == worker.world_size;
  if (!one_host && !worker.store) {
    refuse_pair(kLocalWorldSizeVariable, worker.local_world_size, kWorldSizeVariable, worker.world_size,
                "on one host they are equal");
  }
  if (worker.local_rank >= worker.local_world_size) {
    refuse_pair(kLocalRankVariable, worker.local_rank, kLocalWorldSizeVariable, worker.local_world_size,
                "a local rank is below the number of local ranks");
  }
  if (one_host && worker.local_rank != worker.rank) {
    refuse_pair(kLocalRankVariable, worker.local_rank, kRankVariable, worker.rank, "on one host they are equal");
  }
}

std::string launcher_name(const EnvironmentLookup& lookup) {
  if (lookup("ACCELERATE_MIXED_PRECISION")) {
    return "accelerate";
  }
  return lookup("TORCHELASTIC_RUN_ID") ? "torchrun" : "the launcher";
}

LauncherStore read_store(const EnvironmentLookup& lookup) {
  const std::optional<std::string> host = lookup(kMasterAddressVariable);
  const std::optional<int> port = read_number(lookup, kMasterPortVariable);
  if (!host || !port) {
    refuse_missing(host ? kMasterPortVariable : kMasterAddressVariable, kWorldSizeVariable,
                   "the ranks cannot find each other");
  }
  if (*port < 1 || *port > 65'535) {
    throw InputError(kStage, assignment(kMasterPortVariable, *port) + ": allowed is 1 to 65535");
  }
  return {*host, *port, lookup("TORCHELASTIC_USE_AGENT_STORE") == "True",
          "samegrad/" + lookup("TORCHELASTIC_RUN_ID").value_or("") + "/" +
              lookup("TORCHELASTIC_RESTART_COUNT").value_or("0")};
}

std::string meeting_file(const EnvironmentLookup& lookup, const LauncherPlace& place) {
  const std::string identity = place.launcher + " " + std::to_string(place.world_size) + " " + place.job;
  return store_file_folder(lookup("XDG_RUNTIME_DIR").value_or("")) + "/samegrad-" + sha256_hex(identity).substr(0, 32);
}

/// The place that mpirun, mpiexec or srun gave, where these started several processes.
std::optional<WorkerEnvironment> read_other_launcher(const EnvironmentLookup& lookup) {
  const std::optional<LauncherPlace> place = read_launcher_place(lookup);
  if (!place) {
    return std::nullopt;
  }
  check_rank(place->rank_variable, place->rank, place->size_variable, place->world_size);
  if (const std::optional<int> stated = read_number(lookup, kWorldSizeVariable);
      stated && *stated != place->world_size) {
    refuse_pair(kWorldSizeVariable, *stated, place->size_variable, place->world_size, "they must be equal");
  }
  WorkerEnvironment worker;
  worker.rank = place->rank;
  worker.world_size = place->world_size;
  worker.local_rank = place->local_rank;
  worker.local_world_size = place->local_world_size < 0 ? place->world_size : place->local_world_size;
  worker.launcher = place->launcher;
  const bool one_host = place->local_world_size == place->world_size;
  if (one_host) {
    refuse_contradicting_launchers(lookup, *place);
  }
  if (lookup(kMasterAddressVariable) || lookup(kMasterPortVariable)) {
    worker.store = read_store(lookup);
  } else if (one_host) {
    worker.store_file = meeting_file(lookup, *place);
  } else {
    throw InputError(
        kStage, place->launcher + " started " + std::to_string(place->world_size) + " ranks (" + place->size_variable +
                    ") " +
                    (place->local_world_size < 0 ? "and does not say that all are on this host" : "on several hosts") +
                    ": set MASTER_ADDR to the name of rank 0's host and MASTER_PORT to a free port there, "
                    "the same for all ranks");
  }
  return worker;
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

WorkerEnvironment read_worker_environment(const EnvironmentLookup& lookup) {
  const std::optional<int> rank = read_number(lookup, kRankVariable);
  const std::optional<int> world_size = read_number(lookup, kWorldSizeVariable);
  WorkerEnvironment worker;
  worker.shared_memory_fd = read_number(lookup, kSharedMemoryVariable).value_or(-1);
  worker.store_fd = read_number(lookup, kStoreFileVariable).value_or(-1);
  if (worker.shared_memory_fd >= 0 && worker.store_fd >= 0) {
    refuse_pair(kSharedMemoryVariable, worker.shared_memory_fd, kStoreFileVariable, worker.store_fd,
                "ranks meet in one of them");
  }
  const bool inherits = worker.shared_memory_fd >= 0 || worker.store_fd >= 0;
  const char* const inherited = worker.store_fd >= 0 ? kStoreFileVariable : kSharedMemoryVariable;
  if (!rank && !inherits) {
    if (std::optional<WorkerEnvironment> placed = read_other_launcher(lookup)) {
      check_place(*placed);
      return *std::move(placed);
    }
  }
  if (!rank && (inherits || world_size.value_or(1) > 1)) {
    refuse_missing(kRankVariable, inherits ? inherited : kWorldSizeVariable, "a worker needs both");
  }
  if (rank && !world_size) {
    refuse_missing(kWorldSizeVariable, kRankVariable, "a worker needs both");
  }
  if (!rank) {
    worker.world_size = world_size.value_or(1);
    check_place(worker);
    return worker;
  }
  worker.rank = *rank;
  worker.world_size = *world_size;
  worker.local_rank = read_number(lookup, kLocalRankVariable).value_or(worker.rank);
  worker.local_world_size = read_number(lookup, kLocalWorldSizeVariable).value_or(worker.world_size);
  refuse_contradicting_launchers(lookup, {.launcher = "",
                                          .size_variable = kWorldSizeVariable,
                                          .rank_variable = kRankVariable,
                                          .rank = worker.rank,
                                          .world_size = worker.world_size,
                                          .job = ""});
  if (!inherits && worker.world_size > 1) {
    worker.store = read_store(lookup);
    worker.launcher = launcher_name(lookup);
  }
  check_place(worker);
  return worker;
}

int create_shared_memory(int world_size) { return create_region_file(world_size, kDefaultSlotBytes); }

int create_store_file() {
  const int fd = memfd_create("samegrad-store", MFD_CLOEXEC);
  if (fd < 0) {
    throw RunError(kStage, std::string("a file for the ranks to meet in: memfd_create: ") + std::strerror(errno));
  }
  return fd;
}

std::unique_ptr<Communicator> join_shared_memory(int fd, int rank, int world_size,
                                                 std::chrono::milliseconds join_timeout,
                                                 std::shared_ptr<StatusWriter> status) {
  auto region = std::make_shared<ShmRegion>(ShmRegion::adopt_file(fd, world_size));
  auto communicator = std::make_unique<ShmCommunicator>(std::move(region), rank, std::move(status));
  communicator->barrier({"join", 0, join_timeout});
  return communicator;
}

}  // namespace samegrad
