#include "samegrad/report/gradient_checks.h"

#include <cmath>

#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

std::string tolerance_text(const Tolerance& tolerance) {
  return shortest(tolerance.absolute) + " + " + shortest(tolerance.relative) + " x |ref|";
}

std::string component_name(const ComponentError& component) {
  return component.parameter + "[" + std::to_string(component.index) + "]";
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  if (!comparison.problems.empty()) {
    const std::size_t others = comparison.problems.size() - 1;
    return comparison.problems.front() + (others == 0 ? "" : " (and " + std::to_string(others) + " more)");
  }
  if (comparison.elements == 0) return "nothing was compared";
  return grouped(comparison.outside) + " outside, largest error " + scientific(comparison.worst.error, 3) + " in " +
         component_name(comparison.worst);
}

CheckResult gradient_check(const std::string& name, const Comparison& comparison, std::int64_t parameters) {
  return {name, grouped(parameters) + " within " + tolerance_text(comparison.tolerance), comparison_text(comparison),
          comparison.within_tolerance() && comparison.elements == parameters};
}

CheckResult control_check(const ControlFacts& control) {
  const Comparison& comparison = control.against_reference;
  const bool rejected_by_value =
      comparison.problems.empty() && comparison.outside > 0 && std::isfinite(comparison.worst.error);
  return {"control: " + control.name, "rejected", comparison_text(comparison), rejected_by_value};
}

}  // namespace samegrad
