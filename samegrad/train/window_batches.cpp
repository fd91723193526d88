#include "samegrad/train/window_batches.h"

namespace samegrad {

WindowBatches window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source) {
  WindowBatches batches;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    std::vector<Sample> samples;
    for (const std::int64_t id : window.atoms[static_cast<std::size_t>(atom)]) samples.push_back(source.sample(id));
    batches.atoms.push_back(pack(samples));
    batches.supervised_units += batches.atoms.back().supervised_tokens();
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
