// The environment that programs written for PyTorch's torchrun expect.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "samegrad/launch/pinned_environment.h"

namespace samegrad {

/// Where programs of torch.distributed meet: a store that the launcher keeps.
struct StoreAddress {
  std::string host;
  int port = 0;
};

/// One start of all workers.
struct AttemptPlace {
  int attempt = 0;  ///< 0, 1, ...
  int max_restarts = 0;
  int processes = 1;
  std::string run_id;
  std::optional<StoreAddress> store{};
};

/// RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE. Local.
EnvironmentVariables place_variables(int rank, int processes);

/// GROUP_RANK, ROLE_RANK, ROLE_NAME, GROUP_WORLD_SIZE, ROLE_WORLD_SIZE, TORCHELASTIC_*,
/// TORCH_NCCL_ASYNC_ERROR_HANDLING, and with a store MASTER_ADDR and MASTER_PORT; `error_file` becomes
/// TORCHELASTIC_ERROR_FILE. Local.
EnvironmentVariables torchrun_variables(int rank, const AttemptPlace& place, const std::filesystem::path& error_file);

}  // namespace samegrad
