#include "samegrad/comm/launcher_variables.h"

#include <array>
#include <charconv>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr const char* kStage = "launch";

struct ForeignLauncher {
  const char* size_variable;
  const char* rank_variable;
  const char* name;
};
// SLURM_NTASKS is also set where no task was started yet (a batch script), so srun's own number comes first.
constexpr std::array<ForeignLauncher, 4> kForeignLaunchers{{{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                                                            {"PMI_SIZE", "PMI_RANK", "mpiexec"},
                                                            {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
                                                            {"SLURM_NTASKS", "SLURM_PROCID", "srun"}}};

bool speaks(const ForeignLauncher& launcher, const EnvironmentLookup& lookup) {
  return std::string(launcher.size_variable) != "SLURM_NTASKS" || lookup("SLURM_STEP_ID");
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

void refuse_contradicting_launchers(const EnvironmentLookup& lookup, int rank, int world_size) {
  const int launchers = read_number(lookup, kGroupWorldSizeVariable).value_or(1);
  for (const ForeignLauncher& foreign : kForeignLaunchers) {
    if (!speaks(foreign, lookup)) {
      continue;
    }
    const std::optional<int> size = read_number(lookup, foreign.size_variable);
    const std::optional<int> foreign_rank = read_number(lookup, foreign.rank_variable);
    if (size && *size > 1 && *size != world_size && *size != launchers) {
      refuse_pair(kWorldSizeVariable, world_size, foreign.size_variable, *size,
                  std::string("two launchers (") + foreign.name + " is the second) contradict each other");
    }
    const bool same_ranks = size && *size > 1 && *size == world_size && *size != launchers;
    if (same_ranks && foreign_rank && *foreign_rank != rank) {
      refuse_pair(kRankVariable, rank, foreign.rank_variable, *foreign_rank,
                  std::string("two launchers (") + foreign.name + " is the second) contradict each other");
    }
  }
}

void refuse_foreign_launchers(const EnvironmentLookup& lookup) {
  for (const ForeignLauncher& foreign : kForeignLaunchers) {
    const int processes = speaks(foreign, lookup) ? read_number(lookup, foreign.size_variable).value_or(1) : 1;
    if (processes > 1) {
      throw InputError(kStage, std::string("started by ") + foreign.name + " (" + foreign.size_variable + "=" +
                                   std::to_string(processes) +
                                   "), which samegrad cannot join; start processes with `samegrad train --nproc N` or "
                                   "torchrun");
    }
  }
}

}  // namespace samegrad
