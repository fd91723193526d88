#include "samegrad/objective/controls.h"

#include <cmath>

#include "samegrad/base/check.h"

namespace samegrad {

namespace {

double inverse(double count) { return count == 0.0 ? 0.0 : 1.0 / count; }

AtomCounts sum_of(std::span<const AtomCounts> atoms) {
  AtomCounts window;
  for (const AtomCounts& atom : atoms) {
    window.units += atom.units;
    window.units_before_shift += atom.units_before_shift;
  }
  return window;
}

AtomCounts count_window(std::span<const AtomCounts> atoms, std::optional<double> constant) {
  return constant ? AtomCounts{*constant, *constant} : sum_of(atoms);
}

}  // namespace

std::string_view control_name(Control control) {
  switch (control) {
    case Control::kMeanOfMeans:
      return "mean-of-means";
    case Control::kExtraAccumulationDivision:
      return "extra-accumulation-division";
    case Control::kMissingWorldSize:
      return "missing-world-size";
    case Control::kLocalCount:
      return "local-count";
    case Control::kCountBeforeShift:
      break;
  }
  return "count-before-shift";
}

std::vector<double> control_factors(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation,
                                    std::optional<double> constant) {
  SAMEGRAD_CHECK_OP(accumulation, >=, 1);
  SAMEGRAD_CHECK_OP(static_cast<std::int64_t>(atoms.size()) % accumulation, ==, 0);
  const AtomCounts window = count_window(atoms, constant);
  SAMEGRAD_CHECK_OP(window.units, >, 0.0);
  const auto ranks = static_cast<double>(static_cast<std::int64_t>(atoms.size()) / accumulation);
  const auto microbatches = static_cast<double>(accumulation);

  std::vector<double> factors;
  factors.reserve(atoms.size());
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(atoms.size()); ++a) {
    const AtomCounts& atom = atoms[static_cast<std::size_t>(a)];
    const auto rank_atoms = atoms.subspan(static_cast<std::size_t>(a / accumulation * accumulation),
                                          static_cast<std::size_t>(accumulation));
    double factor = 0.0;
    switch (control) {
      case Control::kMeanOfMeans:
        factor = inverse(ranks * microbatches * atom.units);
        break;
      case Control::kExtraAccumulationDivision:
        factor = inverse(microbatches * window.units);
        break;
      case Control::kMissingWorldSize:
        factor = inverse(ranks * window.units);
        break;
      case Control::kLocalCount:
        factor = inverse(ranks * sum_of(rank_atoms).units);
        break;
      case Control::kCountBeforeShift:
        factor = inverse(window.units_before_shift);
        break;
    }
    factors.push_back(factor);
  }
  return factors;
}

bool control_shows(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation, double relative,
                   std::optional<double> constant) {
  const std::vector<double> factors = control_factors(control, atoms, accumulation, constant);
  const double right = inverse(count_window(atoms, constant).units);
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    if (atoms[a].units > 0.0 && std::abs(factors[a] - right) > relative * right) return true;
  }
  return false;
}

std::string why_it_cannot_show(Control control, std::span<const AtomCounts> atoms, std::int64_t accumulation,
                               double relative, std::optional<double> constant) {
  if (control_shows(control, atoms, accumulation, relative, constant)) return "";
  if (control_shows(control, atoms, accumulation, 0.0, constant)) {
    return "the counts of this window differ too little for the tolerance";
  }
  switch (control) {
    case Control::kMeanOfMeans:
      return "every microbatch has the same number of units, so the mean of their means is the mean";
    case Control::kExtraAccumulationDivision:
      return "the accumulation is 1";
    case Control::kMissingWorldSize:
      return "there is 1 virtual rank";
    case Control::kLocalCount:
      return "every rank has the same number of units, so the mean of their means is the mean";
    case Control::kCountBeforeShift:
      break;
  }
  return "labels are not shifted, no sample has one on its first token, or tokens are not what is counted, so both "
         "counts agree";
}

}  // namespace samegrad
