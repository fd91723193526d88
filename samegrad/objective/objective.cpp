#include "samegrad/objective/objective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::array<Unit, 4> kUnits{Unit::kToken, Unit::kSequence, Unit::kDocument, Unit::kConstant};

[[noreturn]] void refuse(const std::string& message) { throw InputError("objective", message); }

void check_class_weights(const Objective& objective) {
  const std::vector<double>& weights = objective.class_weights;
  if (weights.empty()) return;
  const auto bad = std::ranges::find_if_not(weights, [](double w) { return std::isfinite(w) && w >= 0.0; });
  if (bad != weights.end()) {
    refuse("class weight " + std::to_string(bad - weights.begin()) + " is " + std::to_string(*bad) +
           "; class weights must be finite and at least 0");
  }
  if (std::ranges::all_of(weights, [](double w) { return w == 0.0; })) {
    refuse("all " + std::to_string(weights.size()) + " class weights are 0; at least one must be above 0");
  }
  if (objective.unit == Unit::kSequence || objective.unit == Unit::kDocument) {
    refuse("class weights with unit " + std::string(unit_name(objective.unit)) +
           ": a unit's mean could be over its tokens or over their weights; leave the class weights out, or use unit "
           "token or constant");
  }
}

}  // namespace

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kToken:
      return "token";
    case Unit::kSequence:
      return "sequence";
    case Unit::kDocument:
      return "document";
    case Unit::kConstant:
      break;
  }
  return "constant";
}

Unit unit_named(std::string_view name) {
  const auto* const found = std::ranges::find(kUnits, name, unit_name);
  if (found == kUnits.end()) {
    refuse("unit '" + std::string(name) + "' is unknown; allowed are token, sequence, document and constant");
  }
  return *found;
}

std::string_view divisor_name(const Objective& objective) {
  if (objective.divides_by_weight()) return "total weight";
  switch (objective.unit) {
    case Unit::kToken:
      return "supervised tokens";
    case Unit::kSequence:
      return "sequences";
    case Unit::kDocument:
      return "documents";
    case Unit::kConstant:
      break;
  }
  return "a constant";
}

void check_objective(const Objective& objective) {
  if (objective.unit == Unit::kConstant && objective.constant < 1) {
    refuse("unit constant needs the number to divide by, at least 1; given is " + std::to_string(objective.constant));
  }
  if (objective.unit != Unit::kConstant && objective.constant != 0) {
    refuse("a constant of " + std::to_string(objective.constant) + " with unit " +
           std::string(unit_name(objective.unit)) + ", which does not divide by it; use unit constant, or leave it 0");
  }
  check_class_weights(objective);
}

}  // namespace samegrad
