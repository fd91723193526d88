#include "samegrad/train/weighed_batch.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace samegrad {

Objective training_objective(const RunConfig& config, const SampleSource& source) {
  return {.unit = unit_named(config.objective.unit),
          .constant = config.objective.constant,
          .class_weights = config.objective.class_weights,
          .weighted = source.weighted()};
}

Objective evaluation_objective(const RunConfig& config, const SampleSource& source) {
  Objective objective = training_objective(config, source);
  if (objective.unit == Unit::kConstant) {
    objective.unit = Unit::kToken;
    objective.constant = 0;
  }
  return objective;
}

UnitRow unit_row(const SampleSource& source, std::int64_t id) {
  return {
      .supervised_tokens = source.supervised_tokens(id), .document = source.document(id), .weight = source.weight(id)};
}

WindowUnits window_units(const PlanWindow& window, const SampleSource& source, const Objective& objective) {
  WindowUnits units(objective);
  for (std::size_t atom = 0; atom < window.atoms.size(); ++atom) {
    for (const std::int64_t id : window.atoms[atom]) units.add(static_cast<std::int64_t>(atom), unit_row(source, id));
  }
  return units;
}

AtomUnits weigh_batch(const WindowUnits& units, std::int64_t atom, std::span<const Sample> samples,
                      PackedBatch& batch) {
  std::vector<std::vector<std::int32_t>> targets;  // by sample, the supervised ones
  std::vector<UnitRow> rows;
  targets.reserve(samples.size());
  for (const Sample& sample : samples) {
    std::vector<std::int32_t>& supervised = targets.emplace_back();
    for (const std::int32_t target : sample.targets) {
      if (target != kIgnoreTarget) supervised.push_back(target);
    }
    rows.push_back({.supervised_tokens = static_cast<std::int64_t>(supervised.size()),
                    .document = sample.document,
                    .weight = sample.weight,
                    .targets = supervised});
  }
  AtomUnits weighed = units.weigh(atom, rows);
  batch.weights.clear();
  if (!weighed.token_weights.empty()) {
    batch.weights.assign(batch.targets.size(), 0.0);
    auto weight = weighed.token_weights.begin();
    for (std::size_t token = 0; token < batch.targets.size(); ++token) {
      if (batch.targets[token] != kIgnoreTarget) batch.weights[token] = *weight++;
    }
  }
  return weighed;
}

}  // namespace samegrad
