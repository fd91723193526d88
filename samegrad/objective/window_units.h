// The units of one window: from the rows of its atoms to one weight a supervised token and each atom's part of N, so
// that the loss is always the sum over tokens of w_i * l_i, over N (docs/objectives.md).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "samegrad/objective/objective.h"

namespace samegrad {

/// The document of a row that is one by itself.
inline constexpr std::uint64_t kOwnDocument = 0;

/// A row (sequence) of an atom, as far as weighing needs it.
struct UnitRow {
  std::int64_t supervised_tokens = 0;
  std::uint64_t document = kOwnDocument;       ///< rows with the same number are one document
  double weight = 1.0;                         ///< of the row; used where Objective::weighted. Finite, at least 0
  std::span<const std::int32_t> targets = {};  ///< classes of the supervised tokens; needed with class weights only
};

/// An atom's part of the loss and of N.
struct AtomUnits {
  std::int64_t supervised_tokens = 0;
  std::int64_t units = 0;             ///< its part of N, where N counts units (Window: count, supervised_units)
  double weight = 0.0;                ///< its part of N, where N is a total weight (Window: atom_weights)
  std::vector<double> token_weights;  ///< w_i, [supervised_tokens], in the order of the rows; empty: all 1
};

class WindowUnits {
 public:
  /// Throws as check_objective. Local.
  explicit WindowUnits(Objective objective);

  /// Tells a row of atom `atom`. Every row of the *whole* window, those of other ranks too, in canonical order: a
  /// document's tokens lie on any rank, so a count over a rank's own rows would be another objective. Needs no targets.
  /// Throws InputError where rows of one document have different weights. Local.
  void add(std::int64_t atom, const UnitRow& row);

  /// Supervised tokens of all rows. Local.
  std::int64_t supervised_tokens() const { return supervised_tokens_; }
  const Objective& objective() const { return objective_; }

  /// The part of atom `atom`, whose rows are `rows`, after all rows of the window were added. A document counts in the
  /// atom of its first supervised row, and a constant N in the first atom with one that weighs more
  /// than 0. Local.
  AtomUnits weigh(std::int64_t atom, std::span<const UnitRow> rows) const;

 private:
  struct Document {
    std::int64_t tokens = 0;
    std::int64_t first_atom = 0;
    double weight = 1.0;
  };

  std::int64_t tokens_of_unit(const UnitRow& row) const;
  bool has_token_weights() const;

  Objective objective_;
  std::int64_t supervised_tokens_ = 0;
  std::int64_t first_atom_ = -1;  ///< with a supervised row that weighs more than 0
  std::unordered_map<std::uint64_t, Document> documents_;
};

}  // namespace samegrad
