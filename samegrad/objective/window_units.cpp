#include "samegrad/objective/window_units.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/objective/scale.h"

namespace samegrad {

WindowUnits::WindowUnits(Objective objective) : objective_(std::move(objective)) { check_objective(objective_); }

void WindowUnits::add(std::int64_t atom, const UnitRow& row) {
  supervised_tokens_ += row.supervised_tokens;
  const bool weighs = row.supervised_tokens > 0 && (!objective_.weighted || row.weight > 0.0);
  if (first_atom_ < 0 && weighs) first_atom_ = atom;
  if (objective_.unit != Unit::kDocument || row.document == kOwnDocument || row.supervised_tokens == 0) return;
  const auto [place, is_first] = documents_.try_emplace(row.document, Document{0, atom, row.weight});
  Document& document = place->second;
  if (objective_.weighted && document.weight != row.weight) {
    throw InputError("objective", "rows of one document have weights " + std::to_string(document.weight) + " (atom " +
                                      std::to_string(document.first_atom) + ") and " + std::to_string(row.weight) +
                                      " (atom " + std::to_string(atom) +
                                      "); with unit document a weight is the document's: give all its rows the same");
  }
  document.tokens += row.supervised_tokens;
}

std::int64_t WindowUnits::tokens_of_unit(const UnitRow& row) const {
  if (objective_.unit == Unit::kSequence) return row.supervised_tokens;
  if (objective_.unit != Unit::kDocument) return 1;
  return row.document == kOwnDocument ? row.supervised_tokens : documents_.at(row.document).tokens;
}

bool WindowUnits::has_token_weights() const {
  return objective_.weighted || !objective_.class_weights.empty() || objective_.unit == Unit::kSequence ||
         objective_.unit == Unit::kDocument;
}

AtomUnits WindowUnits::weigh(std::int64_t atom, std::span<const UnitRow> rows) const {
  AtomUnits result;
  std::unordered_set<std::uint64_t> begun;
  for (const UnitRow& row : rows) {
    if (row.supervised_tokens == 0) continue;
    result.supervised_tokens += row.supervised_tokens;
    const double unit_weight = objective_.weighted ? row.weight : 1.0;
    const std::int64_t unit_tokens = tokens_of_unit(row);
    const double token_weight = share_of_unit(unit_weight, 1, unit_tokens);
    double row_weight = share_of_unit(unit_weight, row.supervised_tokens, unit_tokens);
    if (!objective_.class_weights.empty()) {
      SAMEGRAD_CHECK_OP(static_cast<std::int64_t>(row.targets.size()), ==, row.supervised_tokens);
      row_weight = 0.0;
      for (const std::int32_t target : row.targets) {
        SAMEGRAD_CHECK_OP(static_cast<std::size_t>(target), <, objective_.class_weights.size());
        result.token_weights.push_back(token_weight * objective_.class_weights[static_cast<std::size_t>(target)]);
        row_weight += result.token_weights.back();
      }
    } else if (has_token_weights()) {
      result.token_weights.insert(result.token_weights.end(), static_cast<std::size_t>(row.supervised_tokens),
                                  token_weight);
    }
    result.weight += row_weight;

    if (objective_.unit == Unit::kToken) {
      result.units += row.supervised_tokens;
    } else if (objective_.unit == Unit::kSequence || row.document == kOwnDocument) {
      ++result.units;
    } else if (objective_.unit == Unit::kDocument && documents_.at(row.document).first_atom == atom) {
      result.units += begun.insert(row.document).second ? 1 : 0;
    }
  }
  if (objective_.unit == Unit::kConstant) {
    result.units = atom == first_atom_ ? objective_.constant : 0;
  }
  return result;
}

}  // namespace samegrad
