// The terms of a loss as ranks agree on them: each has its own denominator, found over all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace samegrad {

/// Of one window.
inline constexpr std::size_t kMostTerms = 8;

/// What all ranks do where a term has no units in any of them.
enum class EmptyTermPolicy : std::uint8_t {
  kError,       ///< refuse the window
  kDrop,        ///< go on without the term
  kSkipWindow,  ///< skip the window
};

/// What a term's sum is divided by.
enum class TermDivisor : std::uint8_t {
  kNoTerm,    ///< the place is not used
  kUnits,     ///< the number of its units
  kWeight,    ///< their total weight
  kConstant,  ///< a given number
  kNothing,   ///< it is a regulariser
};

/// One term of one rank. Fixed length on the wire.
struct TermRecord {
  std::array<char, 32> name{};  ///< NUL-terminated
  std::int64_t count = 0;       ///< of this rank: units, or for kWeight atoms that weigh more than 0
  double constant = 0.0;        ///< for kConstant
  TermDivisor divisor = TermDivisor::kNoTerm;
  EmptyTermPolicy empty = EmptyTermPolicy::kError;
  std::array<char, 6> unused{};  ///< so that every byte on the wire is defined
};

using TermRecords = std::array<TermRecord, kMostTerms>;

/// Of all ranks' terms.
struct TermsDecision {
  std::vector<std::int64_t> counts;  ///< by term, the sum over ranks of TermRecord::count; negative: too large
  bool has_units = false;            ///< some term that is divided by units or weights has any
  bool has_constant = false;         ///< some term is divided by a constant
  std::string refused;               ///< "" or the name of an empty term under kError
  bool skipped = false;              ///< a term under kSkipWindow is empty
};

/// "" or in which term a rank's records differ from rank 0's, with both: "loss term 1: rank 0 has aux (units, drop),
/// rank 2 has aux (units, error)". Local.
std::string terms_difference(std::span<const TermRecords> by_rank);

/// Pure. Local.
TermsDecision decide_terms(std::span<const TermRecords> by_rank);

}  // namespace samegrad
