#include "samegrad/report/verification.h"

#include <cmath>
#include <utility>

#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

CheckResult loss_check(const char* name, const PrecisionFacts& facts) {
  const double mean = facts.loss.mean();
  const double reference = facts.reference.mean();
  const double error = std::abs(mean - reference);
  const double allowed = facts.gradient.tolerance.allowed(reference);
  const bool same_divisor = (facts.loss.weight || facts.loss.count == facts.reference.count) &&
                            std::abs(facts.loss.divisor() - facts.reference.divisor()) <=
                                kFloat64Tolerance.allowed(facts.reference.divisor());
  return {name, "S/N = " + shortest(reference) + ", N = " + divisor_text(facts.reference),
          "difference " + scientific(error, 3) + ", allowed " + scientific(allowed, 3) +
              ", N = " + divisor_text(facts.loss),
          same_divisor && error <= allowed};
}

std::string factor_text(double factor) {
  if (!std::isfinite(factor) || factor >= 1e6) return scientific(factor, 2);
  return factor < 10.0 ? fixed(factor, 1) : grouped(std::llround(factor));
}

CheckResult outcome_check(const ControlOutcome& control) {
  CheckResult check = control_check(control.facts);
  if (control.facts.against_reference.elements > 0) {
    check.measured += ", " + factor_text(times_allowed(control.facts.against_reference)) + " x the tolerance";
  }
  return check;
}

}  // namespace

std::int64_t Verification::tokens() const {
  std::int64_t tokens = 0;
  for (const RankTokens& rank : input.ranks) tokens += rank.tokens;
  return tokens;
}

double times_allowed(const Comparison& comparison) { return comparison.worst.error / comparison.worst.allowed; }

Verification judge_verification(VerificationInput input) {
  std::vector<CheckResult> checks{gradient_check("gradient, float32", input.float32.gradient, input.parameters),
                                  gradient_check("gradient, float64", input.float64.gradient, input.parameters),
                                  loss_check("loss, float32", input.float32),
                                  loss_check("loss, float64", input.float64)};
  for (const ControlOutcome& control : input.controls) {
    if (control.cannot_show.empty()) checks.push_back(outcome_check(control));
  }
  return {std::move(input), std::move(checks)};
}

}  // namespace samegrad
