// The window in which two runs first differ, computed by both replays and compared part by part.
#pragma once

#include <vector>

#include "apps/samegrad/replayed_run.h"
#include "samegrad/report/bisection.h"
#include "samegrad/report/window_findings.h"

namespace samegrad {

/// Before the next update of both: its plan, samples, counts, the parameters and optimizer state that it starts from,
/// and each atom's gradient. One gradient a run is in memory at a time. Throws InputError where data cannot be read.
/// Local.
void compare_before_step(const ReplayedRun& a, const ReplayedRun& b, WindowFindings& findings);

/// The next update of one run.
struct SteppedWindow {
  UpdateResult result;
  std::vector<float> gradient;  ///< flat, before clipping; empty where none was made
};

/// Takes it. Throws as ReplayedRun::step. Local.
SteppedWindow step_window(ReplayedRun& run);

/// After it: the gradient of the window where no atom's differed, learning rate, clipping, the optimizer's options (of
/// `config`, the leaves in which the two differ), and the parameters where nothing before them differed. Local.
void compare_after_step(const ReplayedRun& a, const SteppedWindow& of_a, const ReplayedRun& b,
                        const SteppedWindow& of_b, const std::vector<ValuePair>& config, WindowFindings& findings);

}  // namespace samegrad
