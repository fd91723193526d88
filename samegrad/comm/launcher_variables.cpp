#include "samegrad/comm/launcher_variables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "samegrad/base/error.h"
#include "samegrad/comm/launcher_process.h"

namespace samegrad {
namespace {

constexpr const char* kStage = "launch";
constexpr const char* kSlurm = "srun";

struct KnownLauncher {
  const char* name;
  const char* size_variable;
  const char* rank_variable;
  const char* local_rank_variable;
  const char* local_size_variable;
};
// In the order in which they are believed. Hydra's proxies and Open MPI's daemons are themselves tasks of srun, so that
// these come first; srun's own PMI does not say how many tasks are on a host, so that SLURM_* comes before a bare
// PMI_*. SLURM_NTASKS is also set where no task was started yet (a batch script).
constexpr std::array<KnownLauncher, 6> kKnownLaunchers{
    {{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"mpiexec", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     {"mpiexec", "PMI_SIZE", "PMI_RANK", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},
     {kSlurm, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", nullptr},
     {kSlurm, "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", nullptr},
     {"mpiexec", "PMI_SIZE", "PMI_RANK", nullptr, nullptr}}};

bool speaks(const KnownLauncher& launcher, const EnvironmentLookup& lookup) {
  if (launcher.local_size_variable != nullptr && launcher.name != std::string_view("mpirun")) {
    return lookup(launcher.local_size_variable).has_value();
  }
  return std::string_view(launcher.size_variable) != "SLURM_NTASKS" ||
         (lookup("SLURM_STEP_ID") && !lookup("SLURM_STEP_NUM_TASKS"));
}

/// Tasks on this host, from "2(x3),1" (three hosts with 2, one with 1) and the host's index; -1 where they do not say.
int slurm_local_size(const EnvironmentLookup& lookup, int world_size) {
  const std::optional<int> nodes = read_number(lookup, "SLURM_STEP_NUM_NODES");
  if (nodes == 1) {
    return world_size;
  }
  const std::string text = lookup("SLURM_STEP_TASKS_PER_NODE").value_or("");
  int node = read_number(lookup, "SLURM_NODEID").value_or(0);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t times_at = text.find("(x", begin);
    int tasks = -1;
    int times = 1;
    std::from_chars(text.data() + begin, text.data() + end, tasks);
    if (times_at < end) {
      std::from_chars(text.data() + times_at + 2, text.data() + end, times);
    }
    if (node < times) {
      return tasks;
    }
    node -= times;
    begin = end + 1;
  }
  return -1;
}

std::string joined(const EnvironmentLookup& lookup, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    text += lookup(name).value_or("") + " ";
  }
  return text;
}

std::string job_name(const KnownLauncher& launcher, const EnvironmentLookup& lookup) {
  if (launcher.name == std::string_view(kSlurm) && lookup("SLURM_JOB_ID") && lookup("SLURM_STEP_ID")) {
    return joined(lookup, {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"});
  }
  if (launcher.name == std::string_view("mpirun") && (lookup("PMIX_NAMESPACE") || lookup("OMPI_MCA_ess_base_jobid"))) {
    return joined(lookup, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
  }
  return launcher_process(launcher.rank_variable);
}

[[noreturn]] void refuse_half(const std::string& missing, const std::string& there, const std::string& launcher) {
  throw InputError(kStage, missing + " is not set, but " + there + " is: " + launcher +
                               " started several processes, and each must know which one it is; set RANK and "
                               "WORLD_SIZE, or start processes with `samegrad launch` or torchrun");
}

}  // namespace

std::optional<int> read_number(const EnvironmentLookup& lookup, const char* name) {
  const std::optional<std::string> text = lookup(name);
  if (!text) {
    return std::nullopt;
  }
  int value = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc{} || end != last || value < 0) {
    throw InputError(kStage, std::string(name) + "='" + *text +
                                 "': not a whole number of at least 0; unset it, or start processes with `samegrad "
                                 "train --nproc N`");
  }
  return value;
}

void refuse_pair(const char* name, int value, const char* other, int other_value, const std::string& allowed) {
  throw InputError(kStage, std::string(name) + "=" + std::to_string(value) + " with " + other + "=" +
                               std::to_string(other_value) + ": " + allowed +
                               "; use one launcher, or `samegrad train --nproc N`");
}

void refuse_contradicting_launchers(const EnvironmentLookup& lookup, const LauncherPlace& read) {
  const int launchers = read_number(lookup, kGroupWorldSizeVariable).value_or(1);
  for (const KnownLauncher& known : kKnownLaunchers) {
    if (!speaks(known, lookup)) {
      continue;
    }
    const std::optional<int> size = read_number(lookup, known.size_variable);
    const std::optional<int> rank = read_number(lookup, known.rank_variable);
    const std::string two = std::string("two launchers (") + known.name + " is the second) contradict each other";
    if (size && *size > 1 && *size != read.world_size && *size != launchers) {
      refuse_pair(read.size_variable, read.world_size, known.size_variable, *size, two);
    }
    const bool same_ranks = size && *size > 1 && *size == read.world_size && *size != launchers;
    if (same_ranks && rank && *rank != read.rank) {
      refuse_pair(read.rank_variable, read.rank, known.rank_variable, *rank, two);
    }
  }
}

std::optional<LauncherPlace> read_launcher_place(const EnvironmentLookup& lookup) {
  for (const KnownLauncher& known : kKnownLaunchers) {
    const int size = speaks(known, lookup) ? read_number(lookup, known.size_variable).value_or(1) : 1;
    if (size <= 1) {
      continue;
    }
    const std::optional<int> rank = read_number(lookup, known.rank_variable);
    if (!rank) {
      refuse_half(known.rank_variable, known.size_variable, known.name);
    }
    const int local_size = known.local_size_variable != nullptr
                               ? read_number(lookup, known.local_size_variable).value_or(-1)
                           : known.name == std::string_view(kSlurm) ? slurm_local_size(lookup, size)
                                                                    : -1;
    const std::optional<int> local_rank =
        known.local_rank_variable != nullptr ? read_number(lookup, known.local_rank_variable) : std::nullopt;
    return LauncherPlace{known.name, known.size_variable,        known.rank_variable, *rank,
                         size,       local_rank.value_or(*rank), local_size,          job_name(known, lookup)};
  }
  // PMIx alone tells a process its rank in a variable, and the number of ranks only on request.
  if (const std::optional<int> rank = read_number(lookup, "PMIX_RANK");
      rank && !lookup(kWorldSizeVariable) && !lookup("OMPI_COMM_WORLD_SIZE") && !lookup("SLURM_STEP_NUM_TASKS")) {
    refuse_half(kWorldSizeVariable, "PMIX_RANK=" + std::to_string(*rank), "a launcher");
  }
  return std::nullopt;
}

}  // namespace samegrad
