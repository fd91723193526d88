// A diagnosis as JSON and as text.
#include <algorithm>
#include <array>
#include <utility>

#include "samegrad/report/diagnose.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/json_number.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

Json finding_to_json(const Finding& finding) {
  return {{"pattern", pattern_name(finding.pattern)},
          {"confidence", confidence_name(finding.confidence)},
          {"unexplained", number_to_json(finding.unexplained)},
          {"meaning", finding.meaning}};
}

Json numbers_to_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_to_json(value));
  return list;
}

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  constexpr std::array<std::string_view, 15> kNames{"identical",
                                                    "rounding",
                                                    "extra-world-size",
                                                    "missing-world-size",
                                                    "missing-accumulation-division",
                                                    "extra-accumulation-division",
                                                    "count-before-shift",
                                                    "rank-share",
                                                    "local-count",
                                                    "mean-of-means",
                                                    "sum-of-means",
                                                    "one-rank-only",
                                                    "small-integer-ratio",
                                                    "constant-ratio",
                                                    "rank-weights"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

std::string_view confidence_name(Confidence confidence) {
  constexpr std::array<std::string_view, 3> kNames{"low", "medium", "high"};
  return kNames.at(static_cast<std::size_t>(confidence));
}

Json diagnosis_to_json(const Diagnosis& diagnosis) {
  Json findings = Json::array();
  for (const Finding& finding : diagnosis.findings) findings.push_back(finding_to_json(finding));
  Json worst = Json::array();
  for (const TensorDifference& tensor : diagnosis.worst) {
    worst.push_back({{"name", tensor.name}, {"relative", number_to_json(tensor.relative)}});
  }
  return {{"same", diagnosis.same()},
          {"findings", std::move(findings)},
          {"problems", diagnosis.problems},
          {"notes", diagnosis.notes},
          {"elements", diagnosis.elements},
          {"different", diagnosis.different},
          {"relative_difference", number_to_json(diagnosis.relative_difference)},
          {"ratio", diagnosis.ratio ? number_to_json(*diagnosis.ratio) : Json()},
          {"ratio_unexplained", number_to_json(diagnosis.ratio_unexplained)},
          {"weights_a", numbers_to_json(diagnosis.weights_a)},
          {"weights_b", numbers_to_json(diagnosis.weights_b)},
          {"worst", std::move(worst)}};
}

std::string diagnosis_text(const Diagnosis& diagnosis, const TextStyle& style) {
  std::vector<std::pair<std::string, std::string>> facts;
  bool first = true;
  for (const Finding& finding : diagnosis.findings) {
    facts.emplace_back(first ? "pattern" : "or", std::string(pattern_name(finding.pattern)));
    facts.emplace_back("", finding.meaning);
    std::string confidence(confidence_name(finding.confidence));
    if (!diagnosis.same()) confidence += ": explains " + percent(1 - finding.unexplained, 2) + " of the difference";
    facts.emplace_back("confidence", confidence);
    first = false;
  }
  if (diagnosis.findings.empty()) facts.emplace_back("pattern", "no known pattern");
  facts.emplace_back("different", grouped(diagnosis.different) + " of " + grouped(diagnosis.elements) +
                                      " components, by " + scientific(diagnosis.relative_difference, 3) +
                                      " of B's length");
  if (diagnosis.ratio && !diagnosis.same()) {
    facts.emplace_back("best ratio", shortest(*diagnosis.ratio) + ", which leaves " +
                                         percent(diagnosis.ratio_unexplained, 2) + " of the difference");
  }
  for (std::size_t r = 0; r < diagnosis.weights_a.size(); ++r) {
    facts.emplace_back("rank " + std::to_string(r), "weight " + fixed(diagnosis.weights_a[r], 4) + " in A, " +
                                                        fixed(diagnosis.weights_b[r], 4) + " in B");
  }
  for (const TensorDifference& tensor : diagnosis.worst) {
    facts.emplace_back("differs", tensor.name + " by " + scientific(tensor.relative, 3));
  }
  constexpr std::size_t kMostProblems = 20;  // two files that have nothing in common have as many as tensors
  const std::size_t told = std::min(diagnosis.problems.size(), kMostProblems);
  for (std::size_t i = 0; i < told; ++i) facts.emplace_back("problem", diagnosis.problems[i]);
  if (told < diagnosis.problems.size()) {
    facts.emplace_back("problems",
                       grouped(static_cast<std::int64_t>(diagnosis.problems.size() - told)) + " more; --json has all");
  }
  for (const std::string& note : diagnosis.notes) facts.emplace_back("note", note);
  return facts_list(facts, style);
}

}  // namespace samegrad
