// Makes the runs of `samegrad verify-resume`: each leg is a `samegrad train` by workers of its own.
#pragma once

#include <string>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/config/run_config.h"
#include "samegrad/config/run_paths.h"
#include "samegrad/report/resume_proof.h"
#include "samegrad/report/run_divergence.h"

namespace samegrad {

class ResumeLegs {
 public:
  /// The config of `line`, trained in the run folder `work`. `line` must outlive this. Local.
  ResumeLegs(const CommandLine& line, const RunConfig& config, RunPaths work);

  /// Makes one run, leg by leg, and says so; `title` comes first in each line. What the workers print goes to the
  /// folder's legs.log. Returns 0, or the exit code of the leg that failed, whose error is logged. Local.
  int run(const ResumeSchedule& schedule, const std::string& title) const;

  /// The lines that the run made last left in metrics.jsonl. Throws InputError where they cannot be read. Local.
  UpdateLines lines_of_last_run() const;

 private:
  std::vector<std::string> arguments_of(const ResumeSchedule& schedule, std::size_t leg) const;

  const CommandLine* line_;
  RunSection run_section_;
  RunPaths work_;
};

}  // namespace samegrad
