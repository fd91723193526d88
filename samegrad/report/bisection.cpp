#include "samegrad/report/bisection.h"

#include "samegrad/config/field_value.h"
#include "samegrad/config/fields.h"

namespace samegrad {
namespace {

void compare_splits(const std::string& name, const SplitLock& a, const SplitLock& b, std::vector<ValuePair>& pairs) {
  constexpr std::size_t kShownDigits = 12;
  const auto compare = [&](const char* what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) pairs.push_back({name + " " + what, of_a, of_b});
  };
  compare("samples", std::to_string(a.samples), std::to_string(b.samples));
  compare("supervised tokens", std::to_string(a.supervised_tokens), std::to_string(b.supervised_tokens));
  compare("sha256", a.sha256.substr(0, kShownDigits), b.sha256.substr(0, kShownDigits));
}

std::string unreproduced_text(const char* which, const BisectedRun& run) {
  const Unreproduced& unreproduced = *run.unreproduced;
  const std::string name = std::string("run ") + which;
  return name + "'s recorded " + std::string(unreproduced.differences.front().what) + " of update " +
         std::to_string(unreproduced.update) + " is not what this program computes from " + name +
         "'s own state: " + unreproduced_reason(run);
}

}  // namespace

std::string unreproduced_reason(const BisectedRun& run) {
  return run.other_dispatch.empty()
             ? "machine, build or library differ in a way that is not recorded, or the run computed wrongly"
             : "it was made under another dispatch, " + run.other_dispatch;
}

std::vector<ValuePair> config_differences(const RunConfig& a, const RunConfig& b) {
  std::vector<ValuePair> pairs;
  for (const Field& field : config_fields()) {
    if (!field.decides_bits && field.key != "run.isa") continue;
    const std::string of_a = field_to_json(a, field).dump();
    const std::string of_b = field_to_json(b, field).dump();
    if (of_a != of_b) pairs.push_back({field.key, of_a, of_b});
  }
  return pairs;
}

std::vector<ValuePair> data_differences(const DataLock& a, const DataLock& b) {
  std::vector<ValuePair> pairs;
  for (const auto& [name, split] : a.splits) {
    if (name != "train") continue;
    for (const auto& [other_name, other] : b.splits) {
      if (other_name == name) compare_splits(name, split, other, pairs);
    }
  }
  return pairs;
}

std::string bisection_verdict(const Bisection& bisection) {
  const RecordComparison& records = bisection.records;
  if (bisection.same()) {
    return "the runs agree on every update that both have: " + std::to_string(records.first) + " to " +
           std::to_string(records.last);
  }
  const std::string update = "update " + std::to_string(records.differing_update);
  if (!bisection.window.empty()) {
    const WindowFinding first = bisection.window.found().front();
    return update + " is the first that differs, in the " + std::string(part_name(first.part)) + ": " + first.text;
  }
  // A first: where neither run is reproduced, the machine is the likely reason for both.
  for (const auto& [run, which] : {std::pair(&bisection.a, "A"), std::pair(&bisection.b, "B")}) {
    if (run->unreproduced) return update + " is the first that differs; " + unreproduced_text(which, *run);
  }
  return update + " is the first that differs, in the " + std::string(records.differences.front().what) +
         "; why is not known without both replays";
}

}  // namespace samegrad
