// From a config and samples to what objective/window_units.h weighs, and from its weights back to a packed batch.
#pragma once

#include <cstdint>
#include <span>

#include "samegrad/config/run_config.h"
#include "samegrad/data/packed_batch.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/objective/window_units.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The config's objective over samples of `source`: weighted where its samples have weights. Local.
Objective training_objective(const RunConfig& config, const SampleSource& source);

/// The same for a whole set, which is no window: unit constant is unit token there. Local.
Objective evaluation_objective(const RunConfig& config, const SampleSource& source);

/// The sample as weighing counts it, from the source's counts alone. Local.
UnitRow unit_row(const SampleSource& source, std::int64_t id);

/// The units of a whole window, of all ranks, from the source's counts. Throws as WindowUnits. Local.
WindowUnits window_units(const PlanWindow& window, const SampleSource& source, const Objective& objective);

/// Weighs atom `atom`, whose samples `batch` was packed from: sets batch.weights, and returns its part of N. Local.
AtomUnits weigh_batch(const WindowUnits& units, std::int64_t atom, std::span<const Sample> samples, PackedBatch& batch);

}  // namespace samegrad
