// What is averaged over what: the unit of a loss, what units weigh, and what N counts (docs/objectives.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace samegrad {

/// What has equal weight in a loss.
enum class Unit {
  kToken,     ///< each supervised token: N is their number
  kSequence,  ///< each sequence's mean: N is the number of sequences with a supervised token
  kDocument,  ///< each document's mean, over all its sequences in the window: N is the number of documents with one
  kConstant,  ///< each supervised token, and N is a given number
};

/// "token", "sequence", "document", "constant".
std::string_view unit_name(Unit unit);
/// The inverse. Throws InputError for another name. Local.
Unit unit_named(std::string_view name);

struct Objective {
  Unit unit = Unit::kToken;
  std::int64_t constant = 0;            ///< kConstant: N, at least 1; else 0
  std::vector<double> class_weights{};  ///< of a token by its target; empty: all 1. kToken and kConstant only
  bool weighted = false;                ///< units have weights: N is their total

  /// Whether N is a total of weights (double), not a number of units (int64).
  bool divides_by_weight() const { return unit != Unit::kConstant && (weighted || !class_weights.empty()); }
};

/// What N counts, for a person: "supervised tokens", "sequences", "documents", "a constant", "total weight". Local.
std::string_view divisor_name(const Objective& objective);

/// Throws InputError naming what cannot be: a constant without its unit or the other way round, class weights that are
/// negative, not finite or all 0, and class weights with kSequence or kDocument, where a unit's mean could be over
/// tokens or over weights. Local.
void check_objective(const Objective& objective);

}  // namespace samegrad
