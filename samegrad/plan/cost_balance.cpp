#include "samegrad/plan/cost_balance.h"

#include <algorithm>
#include <numeric>

#include "samegrad/base/check.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

std::vector<double> atom_costs(const PlanWindow& window, const SampleSource& train, const SampleCost& cost) {
  std::vector<double> costs;
  for (const Atom& atom : window.atoms) {
    double& sum = costs.emplace_back(0.0);
    for (const std::int64_t id : atom) sum += cost.of(train.input_tokens(id));
  }
  return costs;
}

double largest_over_mean(std::span<const double> costs) {
  SAMEGRAD_CHECK_OP(costs.size(), >=, 1U);
  const double sum = std::accumulate(costs.begin(), costs.end(), 0.0);
  return sum > 0.0 ? *std::ranges::max_element(costs) * static_cast<double>(costs.size()) / sum : 1.0;
}

CostBalance cost_balance(std::span<const double> atoms, std::int64_t world_size) {
  std::vector<double> ranks;
  for (const AtomRange& range : rank_ranges(static_cast<std::int64_t>(atoms.size()), world_size)) {
    const auto of_rank = atoms.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
    ranks.push_back(std::accumulate(of_rank.begin(), of_rank.end(), 0.0));
  }
  return {.atoms = largest_over_mean(atoms), .ranks = largest_over_mean(ranks)};
}

}  // namespace samegrad
