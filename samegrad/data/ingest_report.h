// What was read from a text file, and what was not: nothing is left out, cut or without effect silently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad {

/// Something about one line of the file.
struct IngestNote {
  std::int64_t line = 0;  ///< 1-based
  std::string what;

  bool operator==(const IngestNote&) const = default;
};

struct IngestReport {
  std::string file;  ///< as the user named it
  std::int64_t samples = 0;
  std::int64_t input_tokens = 0;          ///< after the cut and the shift: what a model reads
  std::int64_t supervised_tokens = 0;     ///< after the cut and the shift
  std::int64_t longest = 0;               ///< most tokens of a sample, before the cut and the shift
  std::int64_t blank_lines = 0;           ///< .jsonl: lines of white space, skipped
  std::int64_t bad_lines = 0;             ///< skipped, which data.skip_bad_lines allowed
  std::int64_t cut_samples = 0;           ///< longer than the context
  std::int64_t unsupervised_samples = 0;  ///< stay in the plan with a count of 0
  std::int64_t empty_completions = 0;
  std::int64_t weighted_samples = 0;  ///< with a "weight" of their own
  std::int64_t document_samples = 0;  ///< with a "document"
  std::vector<IngestNote> first_bad;  ///< at most kMostNotes of each
  std::vector<IngestNote> first_cut;
  std::vector<IngestNote> first_unsupervised;

  bool operator==(const IngestReport&) const = default;
};

inline constexpr std::size_t kMostNotes = 10;

/// One more of a kind. `what` is asked only where it is kept: there may be millions.
template <typename What>
void note(std::int64_t& total, std::vector<IngestNote>& first, std::int64_t line, const What& what) {
  ++total;
  if (first.size() < kMostNotes) first.push_back({line, what()});
}

/// Adds the report of what follows in the same file; of `next` the file's name does not count. Local.
void append_report(IngestReport& report, const IngestReport& next);

Json to_json(const IngestReport& report);

/// The inverse of to_json. Throws Json::exception when a member is missing or of another type. Local.
IngestReport ingest_report_from_json(const Json& json);

/// The lines that a person reads: totals first, then blank, bad, cut and unsupervised ones, each only if there are any.
std::vector<std::string> ingest_lines(const IngestReport& report);

}  // namespace samegrad
