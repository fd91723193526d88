// Runs that were stopped and resumed beside the one that was not: which schedules there were, and what came of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/run_divergence.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// A number of processes, and the update up to which they train.
struct ResumeLeg {
  std::int64_t processes = 1;
  std::int64_t last_update = 0;

  bool operator==(const ResumeLeg&) const = default;
};

/// A training in one leg, or in several, each going on from the checkpoint of the one before.
struct ResumeSchedule {
  std::string backend;  ///< run.backend
  std::vector<ResumeLeg> legs;

  bool operator==(const ResumeSchedule&) const = default;
};

/// "2 to 4, 3 to 8, 1 to 12": processes and last update of each leg.
std::string schedule_text(const ResumeSchedule& schedule);

/// What a schedule left. `divergence` and what follows it: only where it is not the reference run.
struct ScheduleOutcome {
  ResumeSchedule schedule;
  std::int64_t updates = 0;        ///< that were compared
  std::string final_parameters{};  ///< parameters_xxh3 of the last update
  std::string hash_chain{};        ///< of the last update
  std::optional<RunDivergence> divergence{};
  bool repeated = false;                      ///< both runs were made once more up to there, and parted again
  std::int64_t different = 0;                 ///< components of the parameters that differ there
  std::int64_t elements = 0;                  ///< of how many
  std::optional<ComponentError> parameter{};  ///< the worst of them: `value` is this schedule's
};

struct ResumeProof {
  std::int64_t updates = 0;               ///< of each run here
  std::int64_t total_updates = 0;         ///< of the configured one
  std::vector<ScheduleOutcome> outcomes;  ///< the first is the reference: one process, no stop

  bool holds() const;
};

/// {"holds","updates","total_updates","schedules"}: docs/formats.md. Local.
Json resume_proof_to_json(const ResumeProof& proof);

/// The table, and below it where and in what each diverging schedule parts from the reference. Local.
std::string resume_proof_text(const ResumeProof& proof, const TextStyle& style);

}  // namespace samegrad
