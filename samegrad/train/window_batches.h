// From the plan's window to the packed batches of one rank's atoms, weighed by the objective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "samegrad/data/packed_batch.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/objective/objective.h"
#include "samegrad/objective/window_units.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The batches of atoms `range` of a window, and what they are of N.
struct WindowBatches {
  std::vector<PackedBatch> atoms;
  std::vector<AtomUnits> units;                                    ///< by atom
  std::int64_t supervised_units = 0;                               ///< of these atoms
  std::optional<std::vector<double>> atom_weights = std::nullopt;  ///< of these atoms, where N is a total weight
  std::int64_t supervised_tokens = 0;                              ///< of these atoms
  std::int64_t input_tokens = 0;
  std::int64_t window_tokens = 0;  ///< supervised ones of the whole window
};

/// Reads the samples. Throws InputError where the data cannot be read any more, and as WindowUnits. Local.
WindowBatches window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source,
                             const Objective& objective);

/// All samples of a window, atom by atom. Errors as window_batches. Local.
std::vector<Sample> window_samples(const PlanWindow& window, const SampleSource& source);

}  // namespace samegrad
