// The data lock: which data a run was prepared for. A resume on other data is refused by comparing two locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/data/sample_scan.h"
#include "samegrad/data/sample_source.h"

namespace samegrad {

struct SplitLock {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  ///< input tokens
  std::int64_t supervised_tokens = 0;
  std::int64_t bytes = 0;  ///< of the data file
  std::string sha256;      ///< of the data file

  bool operator==(const SplitLock&) const = default;
};

/// Holds no path: the same data elsewhere has the same lock.
struct DataLock {
  std::string task;
  std::vector<std::pair<std::string, SplitLock>> splits;  ///< by name, in the order train, validation, test

  /// SHA-256 over everything above.
  std::string digest() const;
  bool operator==(const DataLock&) const = default;
};

/// Counts the samples of a source by its own counts. Local.
SplitLock lock_split(const SampleSource& source, const FileFingerprint& file);

/// {"format","task","splits":{NAME:{"samples","tokens","supervised_tokens","bytes","sha256"}},"digest"}.
Json to_json(const DataLock& lock);

/// The inverse of to_json. `where` names the file in messages. Throws CheckError when a member is missing or wrong, the
/// format is unknown, or the digest does not fit. Local.
DataLock data_lock_from_json(const Json& json, const std::string& where);

/// Reads and checks a lock. Throws InputError when there is none or it is no JSON, CheckError as data_lock_from_json.
DataLock read_data_lock(const std::filesystem::path& path);

/// The split of that name; nullptr: there is none. Local.
const SplitLock* split_of(const DataLock& lock, std::string_view name);

/// The data that decide a run's bits: task and split `train`. Local.
DataLock training_part(const DataLock& lock);

/// Throws InputError naming task or split, quantity and both values when `now` is not the data of `before`. Local.
void compare_data_locks(const DataLock& before, const DataLock& now);

}  // namespace samegrad
