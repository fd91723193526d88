#include "samegrad/report/window_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
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
  add({.part = part, .atom = atom, .a = a, .b = b, .text = atom_text(atom) + name + " " + a + " / " + b});
}

void WindowFindings::compare_plans(const PlanWindow& a, const PlanWindow& b) {
  compare_values(Part::kPlan, -1, "atoms of the window", std::to_string(a.atoms.size()),
                 std::to_string(b.atoms.size()));
  for (std::size_t atom = 0; atom < std::min(a.atoms.size(), b.atoms.size()); ++atom) {
    if (a.atoms[atom] == b.atoms[atom]) continue;
    const std::string of_a = ids_text(a.atoms[atom]);
    const std::string of_b = ids_text(b.atoms[atom]);
    const auto index = static_cast<std::int64_t>(atom);
    // Cut lists can look the same.
    add({.part = Part::kPlan,
         .atom = index,
         .a = of_a,
         .b = of_b,
         .text = atom_text(index) + "sample ids " + of_a + " / " + of_b});
  }
}

void WindowFindings::compare_samples(std::int64_t atom, std::span<const Sample> a, std::span<const Sample> b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const std::string sample = "sample " + std::to_string(a[i].id);
    if (a[i].inputs != b[i].inputs) {
      const std::string of_a = std::to_string(a[i].inputs.size());
      const std::string of_b = std::to_string(b[i].inputs.size());
      add({.part = Part::kData,
           .atom = atom,
           .a = of_a,
           .b = of_b,
           .text = atom_text(atom) + sample + " has other tokens (" + of_a + " / " + of_b + " of them)"});
    } else if (a[i].targets != b[i].targets) {
      const std::string of_a = std::to_string(a[i].supervised_tokens());
      const std::string of_b = std::to_string(b[i].supervised_tokens());
      add({.part = Part::kData,
           .atom = atom,
           .a = of_a,
           .b = of_b,
           .text = atom_text(atom) + sample + " has other targets (" + of_a + " / " + of_b + " supervised)"});
    }
  }
}

void WindowFindings::compare_tensors(Part part, std::int64_t atom, std::span<const TensorView> a,
                                     std::span<const TensorView> b) {
  const Comparison comparison = samegrad::compare_tensors(a, b);
  for (const std::string& problem : comparison.problems) {
    add({.part = part, .atom = atom, .text = atom_text(atom) + problem});
  }
  const std::vector<const ParameterComparison*> worst = differing(comparison);
  for (std::size_t i = 0; i < std::min(worst.size(), kMostTensors); ++i) {
    const ComponentError& component = worst[i]->worst;
    const std::string of_a = shortest(component.value);
    const std::string of_b = shortest(component.reference);
    std::string text = atom_text(atom) + worst[i]->name + "[" + std::to_string(component.index) + "] " + of_a + " / " +
                       of_b + "; " + grouped(worst[i]->different) + " of " + grouped(worst[i]->elements) +
                       " components differ";
    if (i + 1 == kMostTensors && worst.size() > kMostTensors) {
      text += "; " + std::to_string(worst.size() - kMostTensors) + " more tensors do";
    }
    add({.part = part, .atom = atom, .tensor = worst[i]->name, .a = of_a, .b = of_b, .text = text});
  }
}

}  // namespace samegrad
