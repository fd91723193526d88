#include "samegrad/comm/environment.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "samegrad/base/error.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/shm_region.h"
#include "samegrad/comm/single_communicator.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "launch";
constexpr std::string_view kWhatToDo = "start processes with `samegrad train --nproc N`";

/// Launchers that say the number of processes only in a variable of their own.
struct ForeignLauncher {
  const char* size_variable;
  const char* name;
};
constexpr std::array<ForeignLauncher, 3> kForeignLaunchers{
    {{"OMPI_COMM_WORLD_SIZE", "mpirun"}, {"PMI_SIZE", "mpiexec"}, {"SLURM_STEP_NUM_TASKS", "srun"}}};

std::optional<int> read_number(const EnvironmentLookup& lookup, const char* name) {
  const std::optional<std::string> text = lookup(name);
  if (!text) {
    return std::nullopt;
  }
  int value = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc{} || end != last || value < 0) {
    throw InputError(kStage, std::string(name) + "='" + *text + "': not a whole number of at least 0; unset it, or " +
                                 std::string(kWhatToDo));
  }
  return value;
}

[[noreturn]] void refuse_pair(const char* name, int value, const char* other, int other_value,
                              std::string_view allowed) {
  throw InputError(kStage, std::string(name) + "=" + std::to_string(value) + " with " + other + "=" +
                               std::to_string(other_value) + ": " + std::string(allowed) + "; " +
                               std::string(kWhatToDo));
}

[[noreturn]] void refuse_launcher(std::string_view launcher, const char* variable, int processes) {
  throw InputError(kStage, "started by another launcher (" + std::string(launcher) + ", " + variable + "=" +
                               std::to_string(processes) + "): not supported yet; " + std::string(kWhatToDo));
}

void refuse_foreign_launchers(const EnvironmentLookup& lookup) {
  for (const ForeignLauncher& launcher : kForeignLaunchers) {
    const std::optional<int> processes = read_number(lookup, launcher.size_variable);
    if (processes.value_or(1) > 1) {
      refuse_launcher(launcher.name, launcher.size_variable, *processes);
    }
  }
}

void check_worker(const WorkerEnvironment& worker) {
  if (worker.world_size < 1 || worker.world_size > kMostLocalProcesses) {
    throw InputError(kStage, std::string(kWorldSizeVariable) + "=" + std::to_string(worker.world_size) +
                                 ": allowed is 1 to " + std::to_string(kMostLocalProcesses));
  }
  if (worker.rank >= worker.world_size) {
    refuse_pair(kRankVariable, worker.rank, kWorldSizeVariable, worker.world_size, "a rank is below the world size");
  }
  if (worker.local_rank != worker.rank) {
    refuse_pair(kLocalRankVariable, worker.local_rank, kRankVariable, worker.rank, "on one host they are equal");
  }
  if (worker.local_world_size != worker.world_size) {
    refuse_pair(kLocalWorldSizeVariable, worker.local_world_size, kWorldSizeVariable, worker.world_size,
                "on one host they are equal");
  }
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
  if (worker.shared_memory_fd < 0) {
    refuse_foreign_launchers(lookup);
    if (world_size.value_or(1) > 1) {
      refuse_launcher(lookup("TORCHELASTIC_RUN_ID") ? "torchrun" : "no " + std::string(kSharedMemoryVariable),
                      kWorldSizeVariable, *world_size);
    }
  }
  const bool alone = worker.shared_memory_fd < 0 && !rank;
  if (!alone && (!rank || !world_size)) {
    throw InputError(kStage, std::string(rank ? kWorldSizeVariable : kRankVariable) + " is not set, but " +
                                 (rank ? kRankVariable : kSharedMemoryVariable) + " is: a worker needs both; " +
                                 std::string(kWhatToDo));
  }
  worker.rank = rank.value_or(0);
  worker.world_size = world_size.value_or(1);
  worker.local_rank = read_number(lookup, kLocalRankVariable).value_or(worker.rank);
  worker.local_world_size = read_number(lookup, kLocalWorldSizeVariable).value_or(worker.world_size);
  check_worker(worker);
  return worker;
}

int create_shared_memory(int world_size) { return create_region_file(world_size, kDefaultSlotBytes); }

std::unique_ptr<Communicator> communicator_from_environment(const WorkerEnvironment& environment,
                                                            std::chrono::milliseconds join_timeout) {
  if (environment.world_size == 1) {
    return std::make_unique<SingleCommunicator>();
  }
  auto region =
      std::make_shared<ShmRegion>(ShmRegion::adopt_file(environment.shared_memory_fd, environment.world_size));
  auto communicator = std::make_unique<ShmCommunicator>(std::move(region), environment.rank);
  communicator->barrier({"join", 0, join_timeout});
  return communicator;
}

}  // namespace samegrad
