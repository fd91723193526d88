// `samegrad env --dual` inside a worker: meet the other one, exchange a tensor, and show the dispatch of both.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "apps/samegrad/commands.h"
#include "samegrad/comm/aten_dispatch.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/join.h"
#include "samegrad/config/load.h"
#include "samegrad/report/facts_list.h"

namespace samegrad {

int run_env_dual(const CommandLine& command) {
  if (command.measure_cost) return run_env_cost(command);
  const RunConfig config = load_config(command.config, command.overrides);
  const std::unique_ptr<Communicator> comm =
      join_ranks(read_worker_environment(), config.run.backend, std::chrono::seconds(config.run.timeout_s))
          .communicator;
  const DualExchange exchanged =
      dual_exchange_check(*comm, {"dual exchange", 0, std::chrono::seconds(config.run.timeout_s)});
  const Dispatch dispatch = effective_dispatch();
  refuse_unequal_dispatch(*comm, dispatch, std::chrono::seconds(config.run.timeout_s));
  if (comm->rank() == 0 && !command.quiet) {
    std::cout << exchanged.pids.size() << " workers met over " << comm->backend() << " and exchanged a tensor of "
              << exchanged.elements << " elements (processes " << exchanged.pids.front() << ", "
              << exchanged.pids.back() << ")\nIn effect in both, and deciding bits:\n";
    std::vector<std::pair<std::string, std::string>> facts;
    facts.reserve(kDispatchFacts.size());
    for (const DispatchFact& fact : kDispatchFacts) facts.emplace_back(fact.name, dispatch.at(fact.name));
    std::cout << facts_list(facts, {});
  }
  return 0;
}

}  // namespace samegrad
