// The plan of user data: every sample exactly once an epoch, in an order shuffled anew for each.
#pragma once

#include <cstdint>
#include <memory>

#include "samegrad/config/run_config.h"
#include "samegrad/plan/python_random.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// The generator of one epoch's order: random.Random(((epoch + 1) << 64) + seed % 2**64) in Python. No two pairs of
/// seed and epoch share one, and none is that of a seed of 64 bits, such as the lesson's. Local.
PythonRandom epoch_random(std::int64_t seed, std::int64_t epoch);

/// Rule "shuffled-epochs-1". The order of epoch e is list(range(samples)) after epoch_random(seed, e).shuffle. Windows
/// take atoms_per_window() x batch_size_per_rank consecutive ids of it and never cross an epoch; the epoch's last
/// window takes what is left: atoms are filled in canonical order, and those that nothing is left for are empty.
/// Updates: plan.updates, or plan.epochs x ceil(samples / window) where that is 0. One epoch's order (4 bytes a sample)
/// is held in memory at a time.
///
/// Throws InputError for no samples, 2^32 samples or more, no updates, and a run whose samples an int64 cannot count.
/// Local.
std::unique_ptr<UpdatePlan> make_epoch_plan(const PlanConfig& plan, std::int64_t seed, std::int64_t samples);

}  // namespace samegrad
