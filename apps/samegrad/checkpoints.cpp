// `samegrad checkpoints`: lists and verifies.
#include <iostream>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/inspect.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

int run_checkpoints(const CommandLine& command) {
  const Inspection inspection = inspect_checkpoints(
      command.checkpoint.empty() ? RunPaths(command.run).checkpoints : std::filesystem::path(command.checkpoint));
  std::cout << (command.json ? result_text(inspection.json) + "\n" : inspection.table);
  return inspection.damaged == 0 ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace samegrad
