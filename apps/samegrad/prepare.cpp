// `samegrad prepare`: writes data, data lock, plan and initial weights.
#include <iostream>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/prepare_run.h"
#include "samegrad/config/load.h"
#include "samegrad/plan/cost_balance.h"
#include "samegrad/plan/sample_cost.h"
#include "samegrad/report/number_text.h"

namespace samegrad {

int run_prepare(const CommandLine& command) {
  const RunConfig config = load_config(command.config, command.overrides);
  const RunPaths paths(command.run);
  OpenedRun run;
  const std::string wrote = prepare_run(config, paths, {}, [&](const OpenedRun& opened) { run = opened; });
  const std::vector<double> costs = atom_costs(run.plan->window(1), *run.data.train, sample_cost(config));
  const CostBalance balance = cost_balance(costs, config.plan.virtual_ranks);
  if (command.json) {
    Json result{
        {"data_lock", to_json(run.data.lock)},
        {"plan",
         {{"rule", run.plan->rule()},
          {"updates", run.plan->updates()},
          {"digest", run.plan->digest()},
          {"first_window_largest_over_mean_cost", {{"atoms", balance.atoms}, {"virtual_ranks", balance.ranks}}}}},
        {"read", Json::array()}};
    for (const IngestReport& report : run.data.reports) result["read"].push_back(to_json(report));
    std::cout << result_text(result) << "\n";
    return 0;
  }
  if (command.quiet) return 0;
  for (const auto& [split, lock] : run.data.lock.splits) {
    std::cout << split << ": " << lock.samples << " samples, " << lock.tokens << " tokens, " << lock.supervised_tokens
              << " supervised\n";
  }
  for (const IngestReport& report : run.data.reports) {
    for (const std::string& line : ingest_lines(report)) std::cout << line << "\n";
  }
  std::cout << "plan: " << run.plan->updates() << " updates of " << config.plan.atoms_per_window() << " atoms ("
            << config.plan.virtual_ranks << " virtual ranks x " << config.plan.accumulation << " accumulation), "
            << config.plan.batch_size_per_rank << " samples an atom"
            << (config.plan.balance == "none" ? "" : " on average, balanced by cost") << "\n"
            << "cost of the first window: largest atom " << times_mean(balance.atoms) << ", fullest virtual rank "
            << times_mean(balance.ranks) << "\n"
            << (wrote.empty() ? "all was there already: nothing written\n" : wrote);
  return 0;
}

}  // namespace samegrad
