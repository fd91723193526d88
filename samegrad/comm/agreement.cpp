#include "samegrad/comm/agreement.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "agreement";

template <std::size_t kSize>
std::string text_of(const std::array<char, kSize>& chars) {
  return {chars.data(), std::find(chars.begin(), chars.end(), '\0')};
}

WindowDecision refuse(std::string message, int exit_code = static_cast<int>(ExitCode::kRunFailed)) {
  WindowDecision decision;
  decision.action = WindowAction::kRefuse;
  decision.exit_code = exit_code;
  decision.message = std::move(message);
  return decision;
}

std::string differ(std::string_view what, const std::string& of_rank_0, std::size_t rank, const std::string& other) {
  return "[" + std::string(kStage) + "] ranks differ in " + std::string(what) + ": rank 0 has " + of_rank_0 +
         ", rank " + std::to_string(rank) + " has " + other + "; start all ranks with the same configuration and data";
}

/// The line of a failed rank.
std::string failure_line(const AgreementRecord& record, std::size_t rank) {
  const std::string message = text_of(record.message);
  return message.empty() ? "[agreement] rank " + std::to_string(rank) + " failed without a message" : message;
}

std::vector<TermRecords> terms_of(std::span<const AgreementRecord> records) {
  std::vector<TermRecords> terms;
  for (const AgreementRecord& record : records) terms.push_back(record.terms);
  return terms;
}

/// What the first record that differs from rank 0's differs in, or "".
std::string difference_of(std::span<const AgreementRecord> records) {
  const AgreementRecord& first = records.front();
  for (std::size_t rank = 1; rank < records.size(); ++rank) {
    const AgreementRecord& other = records[rank];
    if (other.update != first.update) {
      return differ("the update", std::to_string(first.update), rank, std::to_string(other.update));
    }
    if (other.digest != first.digest) {
      return differ("the digest of plan and configuration", text_of(first.digest), rank, text_of(other.digest));
    }
    if (other.message != first.message) {
      const auto said = [](const AgreementRecord& record) {
        return record.message[0] == '\0' ? "nothing" : text_of(record.message);
      };
      return "[" + std::string(kStage) +
             "] since the model was wrapped, ranks changed it differently: rank 0: " + said(first) + ", rank " +
             std::to_string(rank) + ": " + said(other) + "; make the same change on every rank before the same window";
    }
    if (other.parameters != first.parameters) {
      return differ("the parameters (XXH3 of names, shapes and types)", text_of(first.parameters), rank,
                    text_of(other.parameters));
    }
    if (other.empty_window != first.empty_window) {
      const auto name = [](const AgreementRecord& record) {
        return record.empty_window == EmptyWindowPolicy::kSkip ? "skip" : "error";
      };
      return differ("the policy for an empty window", name(first), rank, name(other));
    }
    if (other.has_generator_seed != first.has_generator_seed || other.generator_seed != first.generator_seed) {
      const auto said = [](const AgreementRecord& record) {
        return record.has_generator_seed != 0 ? std::to_string(record.generator_seed) : "none";
      };
      return differ("generator_seed", said(first), rank, said(other));
    }
    if (other.weighted != first.weighted) {
      const auto name = [](const AgreementRecord& record) { return record.weighted != 0 ? "weighted" : "counted"; };
      return differ("how units count", name(first), rank, name(other));
    }
  }
  const std::string difference = terms_difference(terms_of(records));
  return difference.empty() ? ""
                            : "[" + std::string(kStage) + "] ranks differ in " + difference +
                                  "; ask for the window with the same terms on all ranks";
}

/// The sum of a count over the ranks; negative where one is negative or the sum is too large.
std::int64_t total_of(std::span<const AgreementRecord> records, std::int64_t AgreementRecord::*count) {
  std::int64_t total = 0;
  for (const AgreementRecord& record : records) {
    const std::int64_t mine = record.*count;
    if (mine < 0 || mine > std::numeric_limits<std::int64_t>::max() - total) {
      return -1;
    }
    total += mine;
  }
  return total;
}

std::string window_name(const AgreementRecord& record) {
  return "[agreement] window of update " + std::to_string(record.update);
}

/// Sets what the counts of all ranks come to; false where one is negative or too large, which `decision` then refuses.
bool add_up(std::span<const AgreementRecord> records, WindowDecision& decision) {
  std::string what;
  decision.global_units = total_of(records, &AgreementRecord::supervised_units);
  if (decision.global_units < 0) what = "supervised units";
  for (const std::int64_t count : decision.term_counts) {
    if (count < 0) what = "units of a loss term";
  }
  if (total_of(records, &AgreementRecord::atoms) < 0) what = "atoms";
  if (!what.empty()) {
    decision = refuse(window_name(records.front()) + ": the number of " + what + " is negative or above 2^63 - 1");
    return false;
  }
  for (const AgreementRecord& record : records) {
    const std::int64_t begin = decision.ranges.empty() ? 0 : decision.ranges.back().end;
    decision.ranges.push_back({begin, begin + record.atoms});
  }
  return true;
}

WindowDecision decide_empty(const AgreementRecord& first, WindowDecision decision) {
  if (first.empty_window == EmptyWindowPolicy::kSkip) {
    decision.action = WindowAction::kSkip;
    return decision;
  }
  const bool of_terms = first.terms[0].divisor != TermDivisor::kNoTerm;
  const bool weighted = first.weighted != 0;
  decision = refuse(window_name(first) +
                    (of_terms   ? ": 0 units of every loss term"
                     : weighted ? ": weight 0"
                                : ": 0 supervised tokens") +
                    " in all ranks, " + (weighted ? "a weight above 0" : "at least 1") +
                    " is needed; look whether every label is masked, or pass over such windows with " +
                    (first.digest[0] == '\0' ? "WindowRequest::empty_window, EmptyWindowPolicy::kSkip"
                                             : "objective.empty_window: skip"));
  decision.refused_for_zero_units = true;
  return decision;
}

}  // namespace

WindowDecision decide_window(std::span<const AgreementRecord> records) {
  SAMEGRAD_CHECK_OP(records.size(), >, 0U);
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank].failed != 0) {
      WindowDecision decision = refuse(failure_line(records[rank], rank), records[rank].failed);
      decision.failing_rank = static_cast<int>(rank);
      return decision;
    }
  }
  if (std::string difference = difference_of(records); !difference.empty()) {
    return refuse(std::move(difference));
  }
  const AgreementRecord& first = records.front();
  const TermsDecision terms = decide_terms(terms_of(records));
  WindowDecision decision;
  decision.term_counts = terms.counts;
  if (!add_up(records, decision)) return decision;
  const auto asks = [](std::uint8_t asked) { return asked != 0; };
  decision.save_asked = std::ranges::any_of(records, asks, &AgreementRecord::save_asked);
  if (std::ranges::any_of(records, asks, &AgreementRecord::stop_asked)) {
    decision.action = WindowAction::kStop;
    return decision;
  }
  const bool has_units =
      terms.has_units ||
      (first.weighted != 0 ? std::ranges::any_of(records, &AgreementRecord::has_data) : decision.global_units > 0);
  const bool has_atoms = decision.ranges.back().end > 0;
  if (has_units && !has_atoms) {
    return refuse(window_name(first) +
                  ": supervised units in 0 atoms of all ranks, at least 1 atom is needed; say how "
                  "many each rank has");
  }
  if (!has_units && !(terms.has_constant && has_atoms)) return decide_empty(first, std::move(decision));
  if (!terms.refused.empty()) {
    return refuse(window_name(first) + ": 0 units of the loss term " + terms.refused +
                  " in all ranks, at least 1 is "
                  "needed; to go on without it, give it EmptyTermPolicy::kDrop or kSkipWindow");
  }
  if (terms.skipped) decision.action = WindowAction::kSkip;
  return decision;
}

void throw_refusal(const WindowDecision& decision) {
  if (!decision.refused_for_zero_units) throw_failure_line(decision.message, decision.exit_code, decision.failing_rank);
  throw EmptyWindowError(kStage, decision.message.substr(kStage.size() + 3));  // without its "[stage] "
}

std::vector<AgreementRecord> exchange_records(Communicator& comm, const AgreementRecord& mine,
                                              std::chrono::milliseconds timeout) {
  static_assert(std::is_trivially_copyable_v<AgreementRecord>);
  std::vector<AgreementRecord> records(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(records)),
                  {"agreement", mine.update, timeout});
  return records;
}

}  // namespace samegrad
