// One run as outputs/metrics.jsonl records it: what each update did, in numbers and hashes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

/// What an update is known by: everything of its line that two equal runs have in common, so no times and no ranks.
struct RecordedUpdate {
  std::string action;  ///< train | skip
  std::int64_t supervised_tokens = 0;
  double loss_sum = 0.0;      ///< S
  double loss_divisor = 0.0;  ///< N
  std::string gradient_hash;  ///< "" where no gradient was made
  double gradient_norm = 0.0;
  double learning_rate = 0.0;
  double clip_factor = 1.0;
  std::string parameters_hash;
  std::string hash_chain;
};

struct RecordedRun {
  std::string run_id;
  std::vector<std::string> kinds;  ///< of its lines, in the order in which they first appear
  std::map<std::int64_t, RecordedUpdate> updates;

  std::int64_t first() const { return updates.begin()->first; }
  std::int64_t last() const { return updates.rbegin()->first; }
};

/// The run of the last line of `path`, or of the last line of kind `kind` where it is not empty: all lines of that run
/// id, of every kind. Holds these in memory, never the file's lines. Throws InputError (stage "bisect") naming file,
/// line and reason where a line is not as a training writes it, an update is there twice or missing between others, or
/// no run is there. Local.
RecordedRun read_run_record(const std::filesystem::path& path, const std::string& kind);

/// A value of an update that is not the same in two records.
struct RecordDifference {
  std::string_view what;  ///< "supervised tokens", "gradient", ...
  std::string a;
  std::string b;
};

/// All values in which two updates differ, causes before effects; numbers are compared by their bits. Where only the
/// chains differ, the samples or something earlier differed. Local.
std::vector<RecordDifference> record_differences(const RecordedUpdate& a, const RecordedUpdate& b);

/// Two runs side by side, over the updates that both have.
struct RecordComparison {
  std::int64_t first = 0;  ///< shared updates; first > last: none
  std::int64_t last = 0;
  std::int64_t differing_update = 0;          ///< the first one; 0: none
  std::vector<RecordDifference> differences;  ///< of that update
};

/// Local.
RecordComparison compare_records(const RecordedRun& a, const RecordedRun& b);

}  // namespace samegrad
