// outputs/report.json and the table at a run's end: what must hold, what was measured, and whether it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/objective/loss_sum.h"
#include "samegrad/report/check_result.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/gradient_checks.h"
#include "samegrad/report/text_style.h"

namespace samegrad {

/// The resumed run against the one that never stopped.
struct ResumeFacts {
  std::int64_t stopped_at = 0;
  std::int64_t last_update = 0;
  Comparison final_parameters{};                         ///< resumed against continuous, after the last update
  std::int64_t updates_compared = 0;                     ///< updates whose parameter hashes were compared
  std::optional<std::int64_t> first_differing_update{};  ///< nullopt: none
};

/// One set of samples under the final weights.
struct EvaluationFacts {
  std::string name{};  ///< validation | test
  LossSum loss{};      ///< of the objective
  std::int64_t sequences = 0;
  std::int64_t correct = 0;              ///< supervised tokens predicted right
  std::int64_t majority_correct = 0;     ///< by always saying the most frequent target
  std::optional<double> least_margin{};  ///< what (correct - majority_correct) / tokens must reach, e.g. 0.10
  std::optional<LossSum> token_loss{};   ///< over all supervised tokens, each weighing 1; none: `loss` is that

  const LossSum& per_token() const { return token_loss ? *token_loss : loss; }
};

/// What happened when a window without supervised tokens was tried.
struct ZeroWindowFacts {
  std::int64_t ranks = 0;
  std::int64_t ranks_refused = 0;  ///< by the same message
  std::string message{};
  bool parameters_untouched = false;
  bool nothing_written = false;
};

/// Everything that a report is made from. Where the run is a lesson, an absent part is a failed check ("not done"), but
/// for the resume: nobody has to resume a run, so it is only said. Where the run is none, absent parts are left out.
struct RunReportInput {
  std::string run_id{};
  std::string task{};  ///< lesson | text
  std::int64_t parameters = 0;
  std::optional<std::int64_t> expected_parameters{};  ///< lesson: 282,628
  std::optional<Comparison> gradient{};               ///< the right form against the reference
  std::optional<Comparison> lesson_form{};  ///< loss W x S_r / N under a mean over ranks, against the reference
  std::vector<ControlFacts> controls{};
  std::optional<ResumeFacts> resume{};
  std::vector<EvaluationFacts> evaluations{};
  std::optional<ZeroWindowFacts> zero_window{};
  std::vector<std::string> files{};    ///< paths, as shown
  std::vector<std::string> figures{};  ///< paths, as shown
};

/// The input judged.
struct RunReport {
  RunReportInput input{};
  std::vector<CheckResult> checks{};
  std::vector<std::string> not_done{};  ///< what could have been checked too, and by which commands

  /// There is at least one check, and all hold.
  bool holds() const;
  /// kDone, or kCheckFailed.
  ExitCode exit_code() const;
};

/// Judges every part (gradients and controls: report/gradient_checks.h). Local.
RunReport judge_run(RunReportInput input);

/// report.json (docs/formats.md). Local.
Json run_report_to_json(const RunReport& report);

/// The text at the end: checks with PASS or FAIL, evaluation, verdict, files and figures. Local.
std::string run_report_text(const RunReport& report, const TextStyle& style);

}  // namespace samegrad
