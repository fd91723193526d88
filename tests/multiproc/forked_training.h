// Real processes that run `samegrad train`, forked rather than started, so that libtorch is loaded once for many runs.
#pragma once

#include <string>
#include <vector>

#include "samegrad/report/resume_proof.h"
#include "samegrad/report/run_divergence.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {

/// Configuration keys as KEY=VALUE.
using Settings = std::vector<std::string>;

/// A small model.
Settings tiny_model();

class ForkedTraining : public TemporaryFolder {
 protected:
  void SetUp() override;

  /// Trains leg by leg in this test's folder, each leg by its number of processes, from the checkpoint of the leg
  /// before. Returns the run's lines of metrics.jsonl. Fails the test where a process fails, or the last leg's lines
  /// are of another number of ranks.
  UpdateLines lines_of(const std::vector<ResumeLeg>& legs, const Settings& settings);

  /// The settings of a text run over ten samples of growing length, in the test's folder.
  Settings ten_samples() const;
};

}  // namespace samegrad
