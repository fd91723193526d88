#include "apps/samegrad/resume_facts.h"

#include <map>
#include <string>
#include <vector>

#include "samegrad/report/metrics.h"

namespace samegrad {
namespace {

using HashByUpdate = std::map<std::int64_t, std::string>;

// The lines of the last run of `kind`.
HashByUpdate hashes_of_last(const std::vector<Json>& lines, const std::string& kind) {
  std::string run_id;
  for (const Json& line : lines) {
    if (line.value("kind", "") == kind) run_id = line.value("run_id", "");
  }
  HashByUpdate hashes;
  for (const Json& line : lines) {
    if (line.value("kind", "") == kind && line.value("run_id", "") == run_id) {
      hashes[line.value("update", std::int64_t{0})] = line.value("parameters_xxh3", "");
    }
  }
  return hashes;
}

}  // namespace

std::optional<ResumeFacts> resume_facts(const RunPaths& paths) {
  const std::filesystem::path continuous_file = paths.final_parameters("continuous");
  const std::filesystem::path resumed_file = paths.final_parameters("resumed");
  if (!std::filesystem::exists(continuous_file) || !std::filesystem::exists(resumed_file)) return std::nullopt;
  const std::vector<Json> lines = read_metrics(paths.metrics);
  const HashByUpdate continuous = hashes_of_last(lines, "continuous");
  const HashByUpdate resumed = hashes_of_last(lines, "resumed");
  if (continuous.empty() || resumed.empty()) return std::nullopt;
  // A run that was made longer, or stopped again, has other final parameters by right.
  if (continuous.rbegin()->first != resumed.rbegin()->first) return std::nullopt;
  ResumeFacts facts{.stopped_at = resumed.begin()->first - 1,
                    .last_update = continuous.rbegin()->first,
                    .final_parameters = compare_tensor_files(resumed_file, continuous_file),
                    .updates_compared = 0,
                    .first_differing_update = std::nullopt};
  for (const auto& [update, hash] : continuous) {
    if (update <= facts.stopped_at) continue;
    const auto other = resumed.find(update);
    ++facts.updates_compared;
    if (!facts.first_differing_update && (other == resumed.end() || other->second != hash)) {
      facts.first_differing_update = update;
    }
  }
  return facts;
}

}  // namespace samegrad
