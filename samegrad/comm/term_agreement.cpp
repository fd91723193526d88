#include "samegrad/comm/term_agreement.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <type_traits>

namespace samegrad {
namespace {

static_assert(std::is_trivially_copyable_v<TermRecord> && sizeof(TermRecord) == 56);

std::string name_of(const TermRecord& term) {
  return {term.name.data(), std::find(term.name.begin(), term.name.end(), '\0')};
}

bool same_form(const TermRecord& a, const TermRecord& b) {
  return a.name == b.name && a.divisor == b.divisor && a.constant == b.constant && a.empty == b.empty;
}

std::string description_of(const TermRecord& term) {
  std::ostringstream text;
  switch (term.divisor) {
    case TermDivisor::kNoTerm:
      return "none";
    case TermDivisor::kUnits:
      text << name_of(term) << " (units";
      break;
    case TermDivisor::kWeight:
      text << name_of(term) << " (weights";
      break;
    case TermDivisor::kConstant:
      text.precision(17);
      text << name_of(term) << " (constant " << term.constant;
      break;
    case TermDivisor::kNothing:
      text << name_of(term) << " (regularizer";
      break;
  }
  switch (term.empty) {
    case EmptyTermPolicy::kError:
      break;
    case EmptyTermPolicy::kDrop:
      text << ", empty: drop";
      break;
    case EmptyTermPolicy::kSkipWindow:
      text << ", empty: skip the window";
      break;
  }
  return text.str() + ")";
}

bool can_be_empty(const TermRecord& term) {
  return term.divisor == TermDivisor::kUnits || term.divisor == TermDivisor::kWeight;
}

}  // namespace

std::string terms_difference(std::span<const TermRecords> by_rank) {
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    for (std::size_t k = 0; k < kMostTerms; ++k) {
      if (same_form(by_rank[0][k], by_rank[rank][k])) continue;
      return "loss term " + std::to_string(k) + ": rank 0 has " + description_of(by_rank[0][k]) + ", rank " +
             std::to_string(rank) + " has " + description_of(by_rank[rank][k]);
    }
  }
  return "";
}

TermsDecision decide_terms(std::span<const TermRecords> by_rank) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  TermsDecision decision;
  for (std::size_t k = 0; k < kMostTerms && by_rank[0][k].divisor != TermDivisor::kNoTerm; ++k) {
    const TermRecord& term = by_rank[0][k];
    std::int64_t count = 0;
    for (const TermRecords& of_rank : by_rank) {
      const std::int64_t mine = of_rank[k].count;
      count = count < 0 || mine < 0 || mine > kMost - count ? -1 : count + mine;
    }
    decision.counts.push_back(count);
    decision.has_constant = decision.has_constant || term.divisor == TermDivisor::kConstant;
    if (!can_be_empty(term)) continue;
    decision.has_units = decision.has_units || count > 0;
    if (count != 0) continue;
    if (term.empty == EmptyTermPolicy::kError && decision.refused.empty()) decision.refused = name_of(term);
    decision.skipped = decision.skipped || term.empty == EmptyTermPolicy::kSkipWindow;
  }
  return decision;
}

}  // namespace samegrad
