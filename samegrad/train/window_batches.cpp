#include "samegrad/train/window_batches.h"

#include "samegrad/train/weighed_batch.h"

namespace samegrad {

WindowBatches window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source,
                             const Objective& objective) {
  const WindowUnits units = window_units(window, source, objective);
  WindowBatches batches;
  batches.window_tokens = units.supervised_tokens();
  if (objective.divides_by_weight()) batches.atom_weights.emplace();
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    std::vector<Sample> samples;
    for (const std::int64_t id : window.atoms[static_cast<std::size_t>(atom)]) samples.push_back(source.sample(id));
    batches.atoms.push_back(pack(samples));
    batches.units.push_back(weigh_batch(units, atom, samples, batches.atoms.back()));
    batches.supervised_units += batches.units.back().units;
    batches.supervised_tokens += batches.units.back().supervised_tokens;
    if (batches.atom_weights) batches.atom_weights->push_back(batches.units.back().weight);
    batches.input_tokens += batches.atoms.back().tokens();
  }
  return batches;
}

std::vector<Sample> window_samples(const PlanWindow& window, const SampleSource& source) {
  std::vector<Sample> samples;
  for (const Atom& atom : window.atoms) {
    for (const std::int64_t id : atom) samples.push_back(source.sample(id));
  }
  return samples;
}

}  // namespace samegrad
