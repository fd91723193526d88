#include "samegrad/report/json_number.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/verification.h"

namespace samegrad {
namespace {

Json precision_to_json(const PrecisionFacts& facts, std::int64_t tokens) {
  return {{"loss_sum", number_to_json(facts.loss.sum)},
          {"reference_loss_sum", number_to_json(facts.reference.sum)},
          {"divisor", divisor_to_json(facts.loss)},
          {"reference_divisor", divisor_to_json(facts.reference)},
          {"supervised_tokens", tokens},
          {"reference_supervised_tokens", facts.reference_tokens},
          {"gradient", comparison_to_json(facts.gradient)}};
}

Json rank_to_json(const RankTokens& rank, const Verification& verification) {
  return {{"atoms", rank.atoms},
          {"samples", rank.samples},
          {"supervised_tokens", rank.tokens},
          {"share", number_to_json(static_cast<double>(rank.tokens) / static_cast<double>(verification.tokens()))},
          {"share_in_a_mean_of_means", number_to_json(1.0 / static_cast<double>(verification.input.ranks.size()))}};
}

Json control_to_json(const ControlOutcome& control) {
  Json json{{"name", control.facts.name}, {"shows", control.cannot_show.empty()}};
  if (!control.cannot_show.empty()) {
    json["why_not"] = control.cannot_show;
    return json;
  }
  const Comparison& comparison = control.facts.against_reference;
  json["rejected"] = control_check(control.facts).holds;
  json["outside"] = comparison.outside;
  json["largest_error"] = number_to_json(comparison.worst.error);
  json["times_tolerance"] = number_to_json(times_allowed(comparison));
  json["against_reference"] = comparison_to_json(comparison);
  return json;
}

}  // namespace

Json verification_to_json(const Verification& verification) {
  const VerificationInput& input = verification.input;
  Json ranks = Json::array();
  for (const RankTokens& rank : input.ranks) ranks.push_back(rank_to_json(rank, verification));
  Json controls = Json::array();
  for (const ControlOutcome& control : input.controls) controls.push_back(control_to_json(control));
  return {{"format", "samegrad-verification-1"},
          {"holds", verification.holds()},
          {"checks", checks_to_json(verification.checks)},
          {"window",
           {{"update", input.update},
            {"updates", input.total_updates},
            {"virtual_ranks", input.virtual_ranks},
            {"accumulation", input.accumulation},
            {"supervised_tokens", verification.tokens()},
            {"divisor", divisor_to_json(input.float32.loss)},
            {"counted", input.counted},
            {"loss", number_to_json(input.float32.loss.mean())}}},
          {"weights", input.weights},
          {"processes", input.ranks.size()},
          {"parameters", input.parameters},
          {"dropout", {{"config", input.dropout}, {"here", 0.0}}},
          {"float32", precision_to_json(input.float32, verification.tokens())},
          {"float64", precision_to_json(input.float64, verification.tokens())},
          {"ranks", std::move(ranks)},
          {"controls", std::move(controls)}};
}

}  // namespace samegrad
