#include "samegrad/report/run_record.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/report/json_number.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/report/metrics.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "bisect";
constexpr std::size_t kHashDigits = 32;

[[noreturn]] void refuse(const std::filesystem::path& path, std::int64_t line, const std::string& what) {
  throw InputError(kStage, path.string() + ":" + std::to_string(line) + ": " + what +
                               "; it is not as `samegrad train` writes it: restore the file, or train again");
}

bool is_hash(const std::string& text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string hash_member(const Json& line, const char* name) {
  auto hash = line.at(name).get<std::string>();
  if (!is_hash(hash)) throw InputError(kStage, std::string("'") + name + "' is no hash of 32 hexadecimal digits");
  return hash;
}

// Integers only: a number with a fraction would be cut silently.
std::int64_t count_member(const Json& line, const char* name, std::int64_t least) {
  try {
    return whole_number(line.at(name), least, std::numeric_limits<std::int64_t>::max() - 1);
  } catch (const JsonRefused&) {
    throw InputError(kStage, std::string("'") + name + "' is no whole number of at least " + std::to_string(least));
  }
}

RecordedUpdate recorded_update(const Json& line) {
  RecordedUpdate update{.action = line.at("action").get<std::string>(),
                        .supervised_tokens = count_member(line, "supervised_tokens", 0),
                        .loss_sum = number_from_json(line.at("loss_sum")),
                        .loss_divisor = loss_from_json(line).divisor(),
                        .gradient_hash = {},
                        .gradient_norm = number_from_json(line.at("gradient_norm")),
                        .learning_rate = number_from_json(line.at("learning_rate")),
                        .clip_factor = number_from_json(line.at("clip_factor")),
                        .parameters_hash = hash_member(line, "parameters_xxh3"),
                        .hash_chain = hash_member(line, "hash_chain")};
  if (update.action != "train" && update.action != "skip")
    throw InputError(kStage, "'action' is neither train nor skip");
  if (update.action == "train") update.gradient_hash = hash_member(line, "gradient_xxh3");
  return update;
}

// The run id of the last line that fits; of a line that is too broken to say so, nothing.
std::string chosen_run(const std::filesystem::path& path, const std::string& kind) {
  std::string run_id;
  for_each_metrics_line(path, [&](const Json& line, std::int64_t) {
    const Json id = line.value("run_id", Json());
    if (id.is_string() && (kind.empty() || line.value("kind", Json()) == kind)) run_id = id.get<std::string>();
  });
  if (run_id.empty()) {
    throw InputError(kStage, path.string() + ": no line of a run" + (kind.empty() ? "" : " of kind '" + kind + "'") +
                                 "; train in this folder first, or name another");
  }
  return run_id;
}

void add_line(RecordedRun& run, const Json& line, const std::filesystem::path& path, std::int64_t number) {
  try {
    const std::int64_t update = count_member(line, "update", 1);
    const auto kind = line.at("kind").get<std::string>();
    if (std::ranges::find(run.kinds, kind) == run.kinds.end()) run.kinds.push_back(kind);
    if (!run.updates.emplace(update, recorded_update(line)).second) {
      throw InputError(kStage, "update " + std::to_string(update) + " of run " + run.run_id + " is there twice");
    }
  } catch (const Json::exception& error) {
    refuse(path, number, std::string("a member is missing or of another type: ") + error.what());
  } catch (const InputError& error) {
    refuse(path, number, std::string(error.what()).substr(kStage.size() + 3));
  }
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return shortest(value); }

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
template <typename Value>
bool same(const Value& a, const Value& b) {
  return a == b;
}

}  // namespace

RecordedRun read_run_record(const std::filesystem::path& path, const std::string& kind) {
  RecordedRun run{.run_id = chosen_run(path, kind), .kinds = {}, .updates = {}};
  for_each_metrics_line(path, [&](const Json& line, std::int64_t number) {
    if (line.value("run_id", Json()) == run.run_id) add_line(run, line, path, number);
  });
  std::int64_t expected = run.first();
  for (const auto& [update, recorded] : run.updates) {
    if (update != expected) {
      throw InputError(kStage, path.string() + ": update " + std::to_string(expected) + " of run " + run.run_id +
                                   " is missing, while update " + std::to_string(update) +
                                   " is there; restore the file, or train again");
    }
    ++expected;
  }
  return run;
}

std::vector<RecordDifference> record_differences(const RecordedUpdate& a, const RecordedUpdate& b) {
  std::vector<RecordDifference> differences;
  const auto compare = [&](std::string_view what, const auto& of_a, const auto& of_b) {
    if (!same(of_a, of_b)) differences.push_back({what, text_of(of_a), text_of(of_b)});
  };
  compare("action", a.action, b.action);
  compare("supervised tokens", a.supervised_tokens, b.supervised_tokens);
  compare("loss divisor", a.loss_divisor, b.loss_divisor);
  compare("loss sum", a.loss_sum, b.loss_sum);
  compare("gradient", a.gradient_hash, b.gradient_hash);
  compare("gradient norm", a.gradient_norm, b.gradient_norm);
  compare("learning rate", a.learning_rate, b.learning_rate);
  compare("clip factor", a.clip_factor, b.clip_factor);
  compare("parameters", a.parameters_hash, b.parameters_hash);
  compare("hash chain", a.hash_chain, b.hash_chain);
  return differences;
}

RecordComparison compare_records(const RecordedRun& a, const RecordedRun& b) {
  RecordComparison comparison{.first = std::max(a.first(), b.first()),
                              .last = std::min(a.last(), b.last()),
                              .differing_update = 0,
                              .differences = {}};
  for (std::int64_t update = comparison.first; update <= comparison.last; ++update) {
    comparison.differences = record_differences(a.updates.at(update), b.updates.at(update));
    if (!comparison.differences.empty()) {
      comparison.differing_update = update;
      break;
    }
  }
  return comparison;
}

}  // namespace samegrad
