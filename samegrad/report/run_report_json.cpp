#include <cmath>

#include "samegrad/report/json_number.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/run_report.h"

namespace samegrad {
namespace {

Json set_to_json(const EvaluationFacts& set, bool bytes) {
  const auto tokens = static_cast<double>(set.per_token().count);
  Json json{{"loss", number_to_json(set.loss.mean())},
            {"loss_sum", number_to_json(set.loss.sum)},
            {"divisor", divisor_to_json(set.loss)},
            {"tokens", set.per_token().count},
            {"sequences", set.sequences},
            {"perplexity", number_to_json(std::exp(set.per_token().mean()))},
            {"correct", set.correct},
            {"accuracy", number_to_json(static_cast<double>(set.correct) / tokens)},
            {"majority_correct", set.majority_correct},
            {"majority_accuracy", number_to_json(static_cast<double>(set.majority_correct) / tokens)}};
  if (bytes) json["bits_per_byte"] = number_to_json(set.per_token().mean() / std::log(2.0));
  return json;
}

Json resume_to_json(const ResumeFacts& resume) {
  return {
      {"stopped_at", resume.stopped_at},
      {"last_update", resume.last_update},
      {"updates_compared", resume.updates_compared},
      {"first_differing_update", resume.first_differing_update ? Json(*resume.first_differing_update) : Json(nullptr)},
      {"final_parameters", comparison_to_json(resume.final_parameters)}};
}

Json zero_window_to_json(const ZeroWindowFacts& zero) {
  return {{"ranks", zero.ranks},
          {"ranks_refused", zero.ranks_refused},
          {"message", zero.message},
          {"parameters_untouched", zero.parameters_untouched},
          {"nothing_written", zero.nothing_written}};
}

}  // namespace

Json run_report_to_json(const RunReport& report) {
  const RunReportInput& input = report.input;
  Json controls = Json::object();
  for (const ControlFacts& control : input.controls) {
    controls[control.name] = comparison_to_json(control.against_reference);
  }
  Json evaluation = Json::object();
  for (const EvaluationFacts& set : input.evaluations) evaluation[set.name] = set_to_json(set, input.task == "text");
  return {{"format", "samegrad-report-1"},
          {"run_id", input.run_id},
          {"task", input.task},
          {"holds", report.holds()},
          {"checks", checks_to_json(report.checks)},
          {"not_done", report.not_done},
          {"parameters", input.parameters},
          {"gradient",
           {{"right", input.gradient ? comparison_to_json(*input.gradient) : Json(nullptr)},
            {"lesson_form", input.lesson_form ? comparison_to_json(*input.lesson_form) : Json(nullptr)},
            {"controls", std::move(controls)}}},
          {"resume", input.resume ? resume_to_json(*input.resume) : Json(nullptr)},
          {"evaluation", std::move(evaluation)},
          {"zero_window", input.zero_window ? zero_window_to_json(*input.zero_window) : Json(nullptr)},
          {"files", input.files},
          {"figures", input.figures}};
}

}  // namespace samegrad
