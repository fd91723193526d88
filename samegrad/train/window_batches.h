// From the plan's window to the packed batches of one rank's atoms.
#pragma once

#include <cstdint>
#include <vector>

#include "samegrad/data/packed_batch.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The batches of atoms `range` of a window, and how many units they supervise.
struct WindowBatches {
  std::vector<PackedBatch> atoms;
  std::int64_t supervised_units = 0;
  std::int64_t input_tokens = 0;
};

/// Reads the samples. Throws InputError where the data cannot be read any more. Local.
WindowBatches window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source);

/// All samples of a window, atom by atom. Errors as window_batches. Local.
std::vector<Sample> window_samples(const PlanWindow& window, const SampleSource& source);

}  // namespace samegrad
