#include "samegrad/report/window_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "samegrad/report/compare.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

constexpr std::size_t kMostTensors = 3;
constexpr std::size_t kMostIdsShown = 8;

std::string atom_text(std::int64_t atom) { return atom < 0 ? "" : "atom " + std::to_string(atom) + ": "; }

std::string ids_text(const Atom& ids) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(ids.size(), kMostIdsShown); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(ids[i]);
  }
  const std::string more = ",... " + std::to_string(ids.size()) + " in all";
  return text + (ids.size() > kMostIdsShown ? more : "") + "]";
}

// "sample 7 has other tokens (3 / 4 of them)".
std::string sample_text(const Sample& sample, const char* what, const std::string& a, const std::string& b,
                        const char* counted) {
  return "sample " + std::to_string(sample.id) + " has other " + what + " (" + a + " / " + b + " " + counted + ")";
}

std::string component_text(const ParameterComparison& parameter, const std::string& a, const std::string& b) {
  return parameter.name + "[" + std::to_string(parameter.worst.index) + "] " + a + " / " + b + "; " +
         grouped(parameter.different) + " of " + grouped(parameter.elements) + " components differ";
}

// A parameter that differs anywhere; worst first, those with a component that is no number before all.
std::vector<const ParameterComparison*> differing(const Comparison& comparison) {
  std::vector<const ParameterComparison*> result;
  for (const ParameterComparison& parameter : comparison.parameters) {
    if (parameter.different > 0) result.push_back(&parameter);
  }
  const auto size = [](const ParameterComparison* parameter) {
    return std::isnan(parameter->worst.error) ? INFINITY : parameter->worst.error;
  };
  std::ranges::stable_sort(result, [&](const auto* x, const auto* y) { return size(x) > size(y); });
  return result;
}

}  // namespace

std::string_view part_name(Part part) {
  constexpr std::array<std::string_view, 10> kNames{
      "plan",     "data",          "count",    "parameters",        "optimizer state",
      "gradient", "learning rate", "clipping", "optimizer options", "step"};
  return kNames.at(static_cast<std::size_t>(part));
}

std::vector<WindowFinding> WindowFindings::found() const {
  std::vector<WindowFinding> all;
  for (const auto& [part, findings] : found_) all.insert(all.end(), findings.begin(), findings.end());
  return all;
}

std::int64_t WindowFindings::more(Part part) const {
  const auto found = more_.find(part);
  return found == more_.end() ? 0 : found->second;
}

void WindowFindings::add(WindowFinding finding) {
  finding.text.insert(0, atom_text(finding.atom));
  std::vector<WindowFinding>& list = found_[finding.part];
  if (list.size() < kMostOfAPart) {
    list.push_back(std::move(finding));
  } else {
    ++more_[finding.part];
  }
}

void WindowFindings::compare_values(Part part, std::int64_t atom, const std::string& name, const std::string& a,
                                    const std::string& b) {
  if (a == b) return;
  add({.part = part, .atom = atom, .a = a, .b = b, .text = name + " " + a + " / " + b});
}

void WindowFindings::compare_plans(const PlanWindow& a, const PlanWindow& b) {
  compare_values(Part::kPlan, -1, "atoms of the window", std::to_string(a.atoms.size()),
                 std::to_string(b.atoms.size()));
  for (std::size_t atom = 0; atom < std::min(a.atoms.size(), b.atoms.size()); ++atom) {
    if (a.atoms[atom] == b.atoms[atom]) continue;
    std::string of_a = ids_text(a.atoms[atom]);
    std::string of_b = ids_text(b.atoms[atom]);
    std::string text = "sample ids ";
    text.append(of_a).append(" / ").append(of_b);
    // Not compare_values: lists that are cut for the text can look the same.
    add({.part = Part::kPlan,
         .atom = static_cast<std::int64_t>(atom),
         .a = std::move(of_a),
         .b = std::move(of_b),
         .text = std::move(text)});
  }
}

void WindowFindings::compare_samples(std::int64_t atom, std::span<const Sample> a, std::span<const Sample> b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool other_tokens = a[i].inputs != b[i].inputs;
    if (!other_tokens && a[i].targets == b[i].targets) continue;
    std::string of_a = std::to_string(other_tokens ? std::ssize(a[i].inputs) : a[i].supervised_tokens());
    std::string of_b = std::to_string(other_tokens ? std::ssize(b[i].inputs) : b[i].supervised_tokens());
    std::string text = other_tokens ? sample_text(a[i], "tokens", of_a, of_b, "of them")
                                    : sample_text(a[i], "targets", of_a, of_b, "supervised");
    add({.part = Part::kData, .atom = atom, .a = std::move(of_a), .b = std::move(of_b), .text = std::move(text)});
  }
}

void WindowFindings::compare_tensors(Part part, std::int64_t atom, std::span<const TensorView> a,
                                     std::span<const TensorView> b) {
  const Comparison comparison = samegrad::compare_tensors(a, b);
  for (const std::string& problem : comparison.problems) add({.part = part, .atom = atom, .text = problem});
  const std::vector<const ParameterComparison*> worst = differing(comparison);
  for (std::size_t i = 0; i < std::min(worst.size(), kMostTensors); ++i) {
    std::string of_a = shortest(worst[i]->worst.value);
    std::string of_b = shortest(worst[i]->worst.reference);
    std::string text = component_text(*worst[i], of_a, of_b);
    if (i + 1 == kMostTensors && worst.size() > kMostTensors) {
      text.append("; ").append(std::to_string(worst.size() - kMostTensors)).append(" more tensors do");
    }
    add({.part = part,
         .atom = atom,
         .tensor = worst[i]->name,
         .a = std::move(of_a),
         .b = std::move(of_b),
         .text = std::move(text)});
  }
}

}  // namespace samegrad
