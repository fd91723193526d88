#include <algorithm>
#include <cmath>
#include <utility>

#include "samegrad/report/facts_list.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"
#include "samegrad/report/verification.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostParameters = 5;

std::string processes(std::size_t count) { return std::to_string(count) + (count == 1 ? " process" : " processes"); }

std::string verdict(const Verification& verification, const TextStyle& style) {
  const std::string subject = "the gradient of " + processes(verification.input.ranks.size());
  return verification.holds()
             ? toned("Verified: " + subject + " is that of one process on an independent path.", Tone::kGood, style)
             : toned("NOT verified: " + subject + " against one process on an independent path.", Tone::kBad, style) +
                   " " + checks_verdict(verification.checks, style);
}

std::string window_facts(const VerificationInput& input, const TextStyle& style) {
  const LossSum& loss = input.float32.loss;
  const std::int64_t atoms = input.virtual_ranks * input.accumulation;
  const std::vector<std::pair<std::string, std::string>> facts{
      {"window", "update " + grouped(input.update) + " of " + grouped(input.total_updates) + ": " + grouped(atoms) +
                     " atoms (" + grouped(input.virtual_ranks) + " virtual ranks x " + grouped(input.accumulation) +
                     "), N = " + divisor_text(loss) + " " + input.counted + ", S/N = " + fixed(loss.mean(), 6)},
      {"weights", input.weights},
      {"processes", "W = " + std::to_string(input.ranks.size())},
      {"reference", "one process, padded batches, ordinary operations, one division by N"},
      {"dropout", input.dropout > 0.0 ? shortest(input.dropout) + " in the config; off in everything compared here"
                                      : "none in the config"}};
  return facts_list(facts, style);
}

std::string share_text(const Verification& verification, const TextStyle& style) {
  const VerificationInput& input = verification.input;
  std::vector<Column> columns;
  // What a mean of means does to a token can be said where tokens are what N counts.
  const bool counts_tokens = input.counted == "supervised tokens";
  for (const char* title : {"process", "atoms", "samples", "tokens", "share"})
    columns.push_back({title, Align::kRight});
  if (counts_tokens) {
    columns.push_back({"in a mean of means", Align::kRight});
    columns.push_back({"a token there counts"});
  }
  Table table(std::move(columns));
  const auto window = static_cast<double>(verification.tokens());
  const double equal = 1.0 / static_cast<double>(input.ranks.size());
  for (std::size_t r = 0; r < input.ranks.size(); ++r) {
    const RankTokens& rank = input.ranks[r];
    const double share = static_cast<double>(rank.tokens) / window;
    std::vector<std::string> row{std::to_string(r), grouped(rank.atoms), grouped(rank.samples), grouped(rank.tokens),
                                 percent(share, 2)};
    if (counts_tokens) {
      row.push_back(percent(equal, 2));
      row.push_back(rank.tokens == 0 ? "NaN: a mean of no tokens" : fixed(equal / share, 2) + " times as much");
    }
    table.add_row(std::move(row));
  }
  return table.render(style.cells);
}

bool larger_error(const ParameterComparison& a, const ParameterComparison& b) {
  if (std::isnan(b.worst.error)) return false;
  return std::isnan(a.worst.error) || a.worst.error > b.worst.error;
}

std::string error_cell(const ParameterComparison& parameter) {
  return scientific(parameter.worst.error, 3) + " at [" + std::to_string(parameter.worst.index) + "]";
}

std::string largest_errors_text(const VerificationInput& input, const TextStyle& style) {
  std::vector<ParameterComparison> parameters = input.float32.gradient.parameters;
  std::ranges::stable_sort(parameters, larger_error);
  parameters.resize(std::min(parameters.size(), kMostParameters));
  Table table({{"largest errors"},
               {"components", Align::kRight},
               {"largest |reference|", Align::kRight},
               {"float32", Align::kRight},
               {"float64", Align::kRight}});
  for (const ParameterComparison& parameter : parameters) {
    const auto twice = std::ranges::find(input.float64.gradient.parameters, parameter.name, &ParameterComparison::name);
    table.add_row({parameter.name, grouped(parameter.elements), scientific(parameter.largest_reference, 3),
                   error_cell(parameter),
                   twice == input.float64.gradient.parameters.end() ? "not compared" : error_cell(*twice)});
  }
  return table.render(style.cells);
}

std::string controls_text(const Verification& verification, const TextStyle& style) {
  std::vector<std::pair<std::string, std::string>> silent;
  for (const ControlOutcome& control : verification.input.controls) {
    if (!control.cannot_show.empty()) silent.emplace_back(control.facts.name, control.cannot_show);
  }
  std::string text;
  if (!silent.empty()) text += "\nControls that cannot show on this window\n" + facts_list(silent, style);
  if (silent.size() == verification.input.controls.size()) {
    text += "None can: on this window the well-known mistakes give the right gradient. Choose another --update.\n";
  }
  return text;
}

std::string too_coarse_text(const Verification& verification) {
  for (const ControlOutcome& control : verification.input.controls) {
    const Comparison& comparison = control.facts.against_reference;
    if (control.cannot_show.empty() && comparison.within_tolerance()) {
      return "\n" + control.facts.name +
             " is within the tolerance: this window's gradient is too small for the check to mean anything. Choose "
             "another --update.\n";
    }
  }
  return "";
}

}  // namespace

std::string verification_text(const Verification& verification, const TextStyle& style) {
  const VerificationInput& input = verification.input;
  return verdict(verification, style) + "\n\n" + window_facts(input, style) + "\n" +
         checks_text(verification.checks, style) + controls_text(verification, style) + too_coarse_text(verification) +
         "\n" + largest_errors_text(input, style) + "\n" + share_text(verification, style);
}

}  // namespace samegrad
