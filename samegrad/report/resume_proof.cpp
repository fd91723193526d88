#include "samegrad/report/resume_proof.h"

#include <algorithm>

#include "samegrad/report/json_number.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"
#include "samegrad/report/wrap.h"

namespace samegrad {
namespace {

Json parameter_to_json(const ScheduleOutcome& outcome) {
  if (!outcome.parameter) return nullptr;
  return {{"parameter", outcome.parameter->parameter},
          {"index", outcome.parameter->index},
          {"value", number_to_json(outcome.parameter->value)},
          {"reference", number_to_json(outcome.parameter->reference)},
          {"different", outcome.different},
          {"elements", outcome.elements}};
}

Json outcome_to_json(const ScheduleOutcome& outcome) {
  Json legs = Json::array();
  for (const ResumeLeg& leg : outcome.schedule.legs) {
    legs.push_back({{"processes", leg.processes}, {"last_update", leg.last_update}});
  }
  Json json{{"backend", outcome.schedule.backend}, {"legs", std::move(legs)},
            {"updates_compared", outcome.updates}, {"final_parameters_xxh3", outcome.final_parameters},
            {"hash_chain", outcome.hash_chain},    {"equal", !outcome.divergence.has_value()}};
  if (outcome.divergence) {
    json["first_difference"] = {{"update", outcome.divergence->update},
                                {"fields", outcome.divergence->fields},
                                {"repeated", outcome.repeated},
                                {"worst", parameter_to_json(outcome)}};
  }
  return json;
}

std::string verdict(const ScheduleOutcome& outcome, bool is_reference) {
  if (is_reference) return "reference";
  if (!outcome.divergence) return "equal";
  return "differs from update " + std::to_string(outcome.divergence->update);
}

std::string names(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ", ") + field;
  return text;
}

// After which stop it went wrong, if it was the leg's first update.
std::string place_of(const ScheduleOutcome& outcome) {
  for (const ResumeLeg& leg : outcome.schedule.legs) {
    if (leg.last_update + 1 == outcome.divergence->update) {
      return ", the first after the stop at " + std::to_string(leg.last_update);
    }
  }
  return "";
}

std::string parameter_text(const ScheduleOutcome& outcome) {
  const std::string update = std::to_string(outcome.divergence->update);
  if (!outcome.repeated) {
    return "Made once more up to update " + update +
           ", the two runs are equal: something on this machine does not repeat itself (memory, another instruction "
           "set on another core, a file that changed).";
  }
  if (!outcome.parameter) return "The parameters after update " + update + " still have the same bits.";
  const ComponentError& worst = *outcome.parameter;
  return "Parameters after update " + update + ": " + grouped(outcome.different) + " of " + grouped(outcome.elements) +
         " components have other bits; the furthest is " + worst.parameter + ", component " +
         std::to_string(worst.index) + ": " + shortest(worst.value) + " instead of " + shortest(worst.reference) + ".";
}

std::string divergence_text(const ScheduleOutcome& outcome, const TextStyle& style) {
  const std::string what = outcome.divergence->fields.empty() ? "one of the two has no such update"
                                                              : "in " + names(outcome.divergence->fields);
  const std::string told = schedule_text(outcome.schedule) + ": differs first at update " +
                           std::to_string(outcome.divergence->update) + place_of(outcome) + ", " + what + ". " +
                           parameter_text(outcome);
  std::string text = "\n";
  for (const std::string& line : wrap(told, style.cells)) text += line + "\n";
  return text;
}

}  // namespace

std::string schedule_text(const ResumeSchedule& schedule) {
  std::string text;
  for (const ResumeLeg& leg : schedule.legs) {
    text += (text.empty() ? "" : ", ") + std::to_string(leg.processes) + " to " + std::to_string(leg.last_update);
  }
  return text;
}

bool ResumeProof::holds() const {
  return std::ranges::none_of(outcomes, [](const ScheduleOutcome& outcome) { return outcome.divergence.has_value(); });
}

Json resume_proof_to_json(const ResumeProof& proof) {
  Json schedules = Json::array();
  for (const ScheduleOutcome& outcome : proof.outcomes) schedules.push_back(outcome_to_json(outcome));
  return {{"holds", proof.holds()},
          {"updates", proof.updates},
          {"total_updates", proof.total_updates},
          {"schedules", std::move(schedules)}};
}

std::string resume_proof_text(const ResumeProof& proof, const TextStyle& style) {
  const bool names_backends = std::ranges::any_of(
      proof.outcomes, [](const ScheduleOutcome& outcome) { return outcome.schedule.backend != "auto"; });
  std::vector<Column> columns{{"processes to update"},
                              {"updates", Align::kRight},
                              {"parameters after update " + std::to_string(proof.updates)},
                              {"result"}};
  if (names_backends) columns.insert(columns.begin(), {"backend"});
  Table table(columns);
  for (std::size_t i = 0; i < proof.outcomes.size(); ++i) {
    const ScheduleOutcome& outcome = proof.outcomes[i];
    std::vector<std::string> cells{schedule_text(outcome.schedule), std::to_string(outcome.updates),
                                   outcome.final_parameters, verdict(outcome, i == 0)};
    if (names_backends) cells.insert(cells.begin(), outcome.schedule.backend);
    table.add_row(std::move(cells));
  }
  std::string text = table.render(style.cells);
  for (const ScheduleOutcome& outcome : proof.outcomes) {
    if (outcome.divergence) text += divergence_text(outcome, style);
  }
  const auto differing = std::ranges::count_if(
      proof.outcomes, [](const ScheduleOutcome& outcome) { return outcome.divergence.has_value(); });
  const std::string all = std::to_string(proof.outcomes.size());
  const std::string conclusion =
      proof.holds()
          ? "All " + all + " runs are one: the same samples, gradients and parameters, bit for bit, after each of " +
                std::to_string(proof.updates) + " updates."
          : std::to_string(differing) + " of " + all + " runs are not the reference.";
  return text + "\n" + toned(conclusion, proof.holds() ? Tone::kGood : Tone::kBad, style) + "\n";
}

}  // namespace samegrad
