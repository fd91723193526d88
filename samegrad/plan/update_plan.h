// plan[update][virtual rank][microbatch] -> sample ids. A pure function of config and data size; the number of
// processes is not an input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/sample_source.h"
#include "samegrad/plan/plan_cursor.h"

namespace samegrad {

/// One microbatch: sample ids in order. May be empty in a partial window.
using Atom = std::vector<std::int64_t>;

/// The atoms of one update in canonical order: index = virtual rank x accumulation + microbatch.
struct PlanWindow {
  std::int64_t update = 0;  ///< 1-based: the update that this window makes
  std::int64_t epoch = 0;   ///< 0-based
  std::vector<Atom> atoms;  ///< always atoms_per_window() entries
};

/// Plans keep what they computed last, so one object must not be used by two threads at once.
class UpdatePlan {
 public:
  virtual ~UpdatePlan() = default;

  /// Number of updates of the whole run.
  virtual std::int64_t updates() const = 0;
  /// The window of update 1..updates(). Deterministic; calls in any order give the same windows; ascending order is
  /// fast. Local.
  virtual PlanWindow window(std::int64_t update) const = 0;
  /// Where a run stands after `updates_done` updates, 0..updates(). Costs nothing. Local.
  virtual PlanCursor cursor(std::int64_t updates_done) const = 0;
  /// Name and version of the rule by which ids are chosen; docs/formats.md describes each.
  virtual std::string_view rule() const = 0;
  /// SHA-256 over rule, parameters and data size: two plans with one digest give the same windows, as far as both go
  /// (the number of updates is left out, so a longer run begins with the shorter one's windows and digest).
  virtual std::string digest() const = 0;
};

/// The plan of a config over `train`: the lesson's two pools (task lesson), or shuffled epochs (task text), balanced
/// where plan.balance is lpt (plan/balanced_plan.h). Throws InputError when the data cannot fill it (a pool smaller
/// than what a window takes from it, no sample at all). Local.
std::unique_ptr<UpdatePlan> make_update_plan(const RunConfig& config, const SampleSource& train);

/// plan.json: {"format","rule","digest","updates","virtual_ranks","accumulation","batch_size_per_rank","plan"}; `plan`
/// is [update][virtual rank][microbatch] -> ids, and is null where the run has more than `most_ids` ids. Local.
Json plan_to_json(const UpdatePlan& plan, const RunConfig& config, std::int64_t most_ids);

}  // namespace samegrad
