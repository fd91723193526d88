#include "samegrad/report/run_report.h"

#include <algorithm>
#include <cmath>

#include "samegrad/report/gradient_checks.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

constexpr const char* kNotDone = "not done";
constexpr const char* kLessonForm = "gradient, mean of W x S_r / N";

CheckResult parameters_check(const RunReportInput& input) {
  const std::int64_t expected = input.expected_parameters.value_or(input.parameters);
  return {"model parameters", grouped(expected), grouped(input.parameters),
          input.parameters == expected && input.parameters > 0};
}

CheckResult final_parameters_check(const ResumeFacts& resume) {
  const Comparison& comparison = resume.final_parameters;
  std::string measured = comparison_text(comparison);
  if (comparison.problems.empty() && comparison.elements > 0) {
    measured = "difference " + scientific(comparison.worst.error, 3) + ", " + grouped(comparison.different) + " of " +
               grouped(comparison.elements) + " differ in any bit";
  }
  return {"resume: update " + std::to_string(resume.last_update), "difference 0, every bit equal", std::move(measured),
          comparison.identical()};
}

CheckResult every_update_check(const ResumeFacts& resume) {
  const std::int64_t expected = resume.last_update - resume.stopped_at;
  const std::string measured = resume.first_differing_update.has_value()
                                   ? "first differs at update " + std::to_string(*resume.first_differing_update)
                                   : grouped(resume.updates_compared) + " updates compared, none differs";
  return {
      "resume: on the way",
      "equal hashes at updates " + std::to_string(resume.stopped_at + 1) + " to " + std::to_string(resume.last_update),
      measured, !resume.first_differing_update.has_value() && resume.updates_compared == expected && expected > 0};
}

double margin(const EvaluationFacts& set) {
  return static_cast<double>(set.correct - set.majority_correct) / static_cast<double>(set.per_token().count);
}

CheckResult loss_check(const EvaluationFacts& set) {
  const double loss = set.loss.mean();
  return {set.name + " loss", "finite, S / N",
          fixed(set.loss.sum, 3) + " / " + divisor_text(set.loss) + " = " + fixed(loss, 5), std::isfinite(loss)};
}

CheckResult margin_check(const EvaluationFacts& set) {
  const double measured = margin(set);
  return {set.name + " accuracy", fixed(100.0 * *set.least_margin, 0) + " points above majority class",
          fixed(100.0 * measured, 2) + " points", measured >= *set.least_margin};
}

CheckResult zero_window_check(const ZeroWindowFacts& zero) {
  std::string measured = std::to_string(zero.ranks_refused) + " of " + std::to_string(zero.ranks) + " ranks refused";
  measured += zero.parameters_untouched ? ", parameters untouched" : ", PARAMETERS CHANGED";
  measured += zero.nothing_written ? ", nothing written" : ", FILES WRITTEN";
  return {"zero-token window", "refused by all ranks, nothing moves", std::move(measured),
          zero.ranks > 0 && zero.ranks_refused == zero.ranks && zero.parameters_untouched && zero.nothing_written};
}

bool has_evaluation(const RunReportInput& input, const char* name) {
  return std::any_of(input.evaluations.begin(), input.evaluations.end(),
                     [name](const EvaluationFacts& set) { return set.name == name; });
}

// What a lesson must contain and does not: silence is no success.
void add_missing(std::vector<CheckResult>& checks, const RunReportInput& input) {
  const auto missing = [&checks](const char* name, const char* todo) {
    checks.push_back({name, std::string("done: ") + todo, kNotDone, false});
  };
  if (!input.gradient) missing("gradient", "samegrad reference, then samegrad evaluate");
  if (!input.lesson_form) missing(kLessonForm, "samegrad evaluate");
  if (input.controls.empty()) missing("control: mean-of-means", "samegrad evaluate");
  for (const char* name : {"validation", "test"}) {
    if (!has_evaluation(input, name)) missing(name, "samegrad evaluate");
  }
  if (!input.zero_window) missing("zero-token window", "samegrad evaluate");
}

}  // namespace

bool RunReport::holds() const { return all_hold(checks); }

ExitCode RunReport::exit_code() const { return holds() ? ExitCode::kDone : ExitCode::kCheckFailed; }

RunReport judge_run(RunReportInput input) {
  std::vector<CheckResult> checks{parameters_check(input)};
  if (input.gradient) checks.push_back(gradient_check("gradient", *input.gradient, input.parameters));
  if (input.lesson_form) checks.push_back(gradient_check(kLessonForm, *input.lesson_form, input.parameters));
  for (const ControlFacts& control : input.controls) checks.push_back(control_check(control));
  if (input.resume) {
    checks.push_back(final_parameters_check(*input.resume));
    checks.push_back(every_update_check(*input.resume));
  }
  for (const EvaluationFacts& set : input.evaluations) {
    checks.push_back(loss_check(set));
    if (set.least_margin) checks.push_back(margin_check(set));
  }
  if (input.zero_window) checks.push_back(zero_window_check(*input.zero_window));
  std::vector<std::string> not_done;
  if (input.task == "lesson") {
    add_missing(checks, input);
    if (!input.resume) {
      not_done.emplace_back(
          "resume against a continuous run (samegrad train; train --continuous; train --resume latest)");
    }
  }
  return {std::move(input), std::move(checks), std::move(not_done)};
}

}  // namespace samegrad
