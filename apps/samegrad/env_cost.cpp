// `samegrad env --measure-cost` inside a worker: good costs for plan.balance lpt, as lines for the config.
#include <iostream>
#include <string>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/error.h"
#include "samegrad/config/load.h"
#include "samegrad/plan/cost_fit.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"
#include "samegrad/train/measure_cost.h"

namespace samegrad {
namespace {

Json cost_json(const std::vector<MeasuredCost>& measured, const CostFit& fit) {
  Json json{{"cost_per_token", fit.cost.per_token},
            {"cost_per_token_pair", fit.cost.per_token_pair},
            {"largest_error", fit.largest_error},
            {"measured", Json::array()}};
  for (const MeasuredCost& one : measured) {
    json["measured"].push_back(
        {{"tokens", one.tokens}, {"seconds", one.seconds}, {"fitted_seconds", fit.cost.of(one.tokens)}});
  }
  return json;
}

std::string cost_text(const std::vector<MeasuredCost>& measured, const CostFit& fit) {
  Table table({{"tokens", Align::kRight}, {"measured", Align::kRight}, {"fitted", Align::kRight}});
  for (const MeasuredCost& one : measured) {
    const double fitted = fit.cost.of(one.tokens);
    table.add_row({grouped(one.tokens), scientific(one.seconds, 3) + " s", scientific(fitted, 3) + " s"});
  }
  return "Forward and backward of one sample by one thread, the least of several times:\n" + table.render() +
         "The fit is within " + percent(fit.largest_error, 1) +
         " of each. For the section plan of the config, under balance: lpt:\n  cost_per_token: " +
         scientific(fit.cost.per_token, 3) + "\n  cost_per_token_pair: " + scientific(fit.cost.per_token_pair, 3) +
         "\n";
}

}  // namespace

int run_env_cost(const CommandLine& command) {
  const RunConfig config = load_config(command.config, command.overrides);
  const bool lesson = config.data.task == "lesson";
  const std::int64_t longest = lesson ? config.data.longest : config.model.positions;
  if (longest < 2) {
    throw InputError("env", "model.positions: " + std::to_string(longest) +
                                "; at least 2 lengths are needed to tell two costs apart, so at least 2");
  }
  const std::vector<MeasuredCost> measured = measure_cost(config, longest);
  const CostFit fit = fit_cost(measured);
  std::cout << (command.json ? result_text(cost_json(measured, fit)) + "\n" : cost_text(measured, fit));
  return 0;
}

}  // namespace samegrad
