#include "apps/samegrad/resume_facts.h"

#include <map>
#include <string>

#include "apps/samegrad/trained_on.h"
#include "samegrad/base/error.h"
#include "samegrad/report/metrics.h"

namespace samegrad {
namespace {

using HashByUpdate = std::map<std::int64_t, std::string>;

// Of the last run of each kind.
struct LastRuns {
  HashByUpdate continuous;
  HashByUpdate resumed;
};

LastRuns last_runs(const std::filesystem::path& metrics) {
  const auto each = [&](const auto& take) {
    for_each_metrics_line(metrics, [&](const Json& line, std::int64_t number) {
      try {
        take(line, line.value("kind", ""), line.value("run_id", ""));
      } catch (const Json::exception& error) {
        throw InputError("metrics", metrics.string() + ":" + std::to_string(number) +
                                        ": not as samegrad train writes it: " + error.what());
      }
    });
  };
  std::string continuous_id;
  std::string resumed_id;
  each([&](const Json&, const std::string& kind, const std::string& run_id) {
    if (kind == "continuous") continuous_id = run_id;
    if (kind == "resumed") resumed_id = run_id;
  });
  LastRuns runs;
  each([&](const Json& line, const std::string& kind, const std::string& run_id) {
    const bool of_continuous = kind == "continuous" && run_id == continuous_id;
    if (!of_continuous && (kind != "resumed" || run_id != resumed_id)) return;
    HashByUpdate& hashes = of_continuous ? runs.continuous : runs.resumed;
    hashes[line.value("update", std::int64_t{0})] = line.value("parameters_xxh3", "");
  });
  return runs;
}

}  // namespace

std::optional<ResumeFacts> resume_facts(const RunPaths& paths) {
  const std::filesystem::path continuous_file = paths.final_parameters("continuous");
  const std::filesystem::path resumed_file = paths.final_parameters("resumed");
  if (!std::filesystem::exists(continuous_file) || !std::filesystem::exists(resumed_file)) return std::nullopt;
  if (!of_equal_runs(continuous_file, resumed_file)) return std::nullopt;
  const auto [continuous, resumed] = last_runs(paths.metrics);
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
