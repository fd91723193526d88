// `samegrad env --dual` inside a worker: meet the other one and exchange a tensor.
#include <iostream>

#include "apps/samegrad/commands.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/environment.h"
#include "samegrad/config/load.h"

namespace samegrad {

int run_env_dual(const CommandLine& command) {
  const RunConfig config = load_config(command.config, command.overrides);
  const std::unique_ptr<Communicator> comm =
      communicator_from_environment(read_worker_environment(), std::chrono::seconds(config.run.timeout_s));
  const DualExchange exchanged =
      dual_exchange_check(*comm, {"dual exchange", 0, std::chrono::seconds(config.run.timeout_s)});
  if (comm->rank() == 0 && !command.json && !command.quiet) {
    std::cout << exchanged.pids.size() << " workers met over " << comm->backend() << " and exchanged a tensor of "
              << exchanged.elements << " elements (processes " << exchanged.pids.front() << ", "
              << exchanged.pids.back() << ")\n";
  }
  return 0;
}

}  // namespace samegrad
