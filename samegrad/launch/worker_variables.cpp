#include "samegrad/launch/worker_variables.h"

#include <cstdlib>

#include "samegrad/comm/environment.h"
#include "samegrad/launch/error_file.h"

namespace samegrad {

EnvironmentVariables place_variables(int rank, int processes) {
  const std::string rank_text = std::to_string(rank);
  const std::string size_text = std::to_string(processes);
  return {{kRankVariable, rank_text},
          {kWorldSizeVariable, size_text},
          {kLocalRankVariable, rank_text},
          {kLocalWorldSizeVariable, size_text}};
}

EnvironmentVariables torchrun_variables(int rank, const AttemptPlace& place, const std::filesystem::path& error_file) {
  const std::string size_text = std::to_string(place.processes);
  EnvironmentVariables variables{{"GROUP_RANK", "0"},
                                 {"ROLE_RANK", std::to_string(rank)},
                                 {"ROLE_NAME", "default"},
                                 {kGroupWorldSizeVariable, "1"},
                                 {"ROLE_WORLD_SIZE", size_text},
                                 {"TORCHELASTIC_RESTART_COUNT", std::to_string(place.attempt)},
                                 {"TORCHELASTIC_MAX_RESTARTS", std::to_string(place.max_restarts)},
                                 {"TORCHELASTIC_RUN_ID", place.run_id},
                                 {kErrorFileVariable, error_file.string()}};
  if (std::getenv("TORCH_NCCL_ASYNC_ERROR_HANDLING") == nullptr) {
    variables.emplace_back("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  }
  if (place.store) {
    variables.insert(variables.end(), {{kMasterAddressVariable, place.store->host},
                                       {kMasterPortVariable, std::to_string(place.store->port)},
                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  }
  return variables;
}

}  // namespace samegrad
