#include "apps/samegrad/trained_on.h"

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {
namespace {

constexpr const char* kDataLock = "data_lock";
constexpr const char* kRunDigest = "run_digest";

}  // namespace

std::map<std::string, std::string> trained_on(const DataLock& data, const std::string& run_digest) {
  return {{kDataLock, to_json(data).dump()}, {kRunDigest, run_digest}};
}

bool of_equal_runs(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto digest = [](const std::filesystem::path& file) {
    const SafetensorsFile weights(file);
    const auto found = weights.metadata().find(kRunDigest);
    return found == weights.metadata().end() ? std::string() : found->second;
  };
  const std::string of_a = digest(a);
  const std::string of_b = digest(b);
  return of_a.empty() || of_b.empty() || of_a == of_b;
}

std::vector<std::string> check_trained_on(const std::filesystem::path& file, const DataLock& now) {
  const SafetensorsFile weights(file);
  const auto found = weights.metadata().find(kDataLock);
  if (found == weights.metadata().end()) return {};
  DataLock before;
  try {
    before = data_lock_from_json(parse_untrusted_json(found->second), file.string());
  } catch (const Json::exception& error) {
    throw CheckError("evaluate", file.string() + ": " + kDataLock + ": " + error.what());
  }
  try {
    compare_data_locks(training_part(before), training_part(now));
  } catch (const InputError& error) {
    throw InputError("evaluate", file.string() + " was trained on other data: " + error.what());
  }
  std::vector<std::string> notes;
  for (const auto& [name, split] : now.splits) {
    const SplitLock* const old_split = split_of(before, name);
    if (old_split != nullptr && *old_split == split) continue;
    notes.push_back("data." + name + ": " +
                    (old_split == nullptr
                         ? "was not there when " + file.string() + " was trained"
                         : "other data than when " + file.string() + " was trained (sha256 " +
                               old_split->sha256.substr(0, 12) + ", now " + split.sha256.substr(0, 12) + ")") +
                    "; its losses are not those of the training's metrics");
  }
  return notes;
}

}  // namespace samegrad
