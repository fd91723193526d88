#include "samegrad/report/run_history.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/report/loss_divisor.h"

namespace samegrad {
namespace {

// Of updates, and of tokens in a line: sums of as many lines as a file has stay within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 40;
// A figure shows a few thousand; a file without end must not fill the memory.
constexpr std::int64_t kMostNumbers = 4'000'000;

// The lines of one run and kind, as far as a figure shows them.
class Part {
 public:
  explicit Part(bool has_windows = false) : has_windows_(has_windows) {}

  // Returns how many numbers were kept.
  std::int64_t add(const Json& line) {
    last_ = whole_number(line.at("update"), 0, kMost);
    if (!first_) first_ = last_;
    // Windows that nothing was learned from have no loss.
    if (const LossSum loss = loss_from_json(line); loss.divisor() > 0.0) losses.push_back({*last_, loss});
    if (line.contains("validation")) {
      const LossSum loss = loss_from_json(line.at("validation"));
      validations.emplace(*last_, LossPoint{*last_, loss});
    }
    if (has_windows_) add_window(line.at("ranks"));
    return 1 + (has_windows_ ? static_cast<std::int64_t>(windows.back().by_rank.size()) : 0);
  }

  std::optional<std::int64_t> first() const { return first_; }
  std::optional<std::int64_t> last() const { return last_; }

  std::vector<LossPoint> losses;
  std::map<std::int64_t, LossPoint> validations;
  std::vector<WindowTokens> windows;
  std::vector<RankWork> ranks;

 private:
  void add_window(const Json& of_ranks) {
    WindowTokens window{*last_, {}};
    if (ranks.size() < of_ranks.size()) ranks.resize(of_ranks.size());
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
      const Json& rank = of_ranks.at(r);
      const auto tokens = whole_number(rank.at("supervised_tokens"), 0, kMost);
      window.by_rank.push_back(tokens);
      ranks[r].supervised_tokens += tokens;
      ranks[r].compute_seconds += rank.at("compute_seconds").get<double>();
      ranks[r].wait_seconds += rank.at("wait_seconds").get<double>();
      ranks[r].exchange_seconds += rank.at("exchange_seconds").get<double>();
    }
    windows.push_back(std::move(window));
  }

  bool has_windows_;
  std::optional<std::int64_t> first_;
  std::optional<std::int64_t> last_;
};

void append_windows(RunHistory& history, Part part) {
  std::ranges::move(part.windows, std::back_inserter(history.windows));
  if (history.ranks.size() < part.ranks.size()) history.ranks.resize(part.ranks.size());
  for (std::size_t r = 0; r < part.ranks.size(); ++r) {
    RankWork& sum = history.ranks[r];
    sum.supervised_tokens += part.ranks[r].supervised_tokens;
    sum.compute_seconds += part.ranks[r].compute_seconds;
    sum.wait_seconds += part.ranks[r].wait_seconds;
    sum.exchange_seconds += part.ranks[r].exchange_seconds;
  }
}

RunHistory history_of(const MetricsLines& lines) {
  std::map<std::string, std::string> last_run;  // by kind
  lines([&](const Json& line) {
    const auto& kind = line.at("kind").get_ref<const std::string&>();
    const auto& run = line.at("run_id").get_ref<const std::string&>();
    if (kind == "continuous" || kind == "stopped" || kind == "resumed") last_run[kind] = run;
  });

  const bool has_continuous = last_run.contains("continuous");
  Part continuous(has_continuous);
  Part resumed(!has_continuous);
  Part stopped(!has_continuous);       // of the run that was resumed
  Part last_stopped(!has_continuous);  // where that one was not
  std::int64_t numbers = 0;
  lines([&](const Json& line) {
    const auto is_of = [&](const char* kind, const char* run_of) {
      const auto run = last_run.find(run_of);
      return run != last_run.end() && line.at("kind") == kind && line.at("run_id") == run->second;
    };
    if (is_of("continuous", "continuous")) numbers += continuous.add(line);
    if (is_of("resumed", "resumed")) numbers += resumed.add(line);
    if (is_of("stopped", "resumed")) numbers += stopped.add(line);
    if (is_of("stopped", "stopped")) numbers += last_stopped.add(line);
    if (numbers > kMostNumbers) {
      throw InputError("plot",
                       "metrics.jsonl: more than " + std::to_string(kMostNumbers) +
                           " windows and ranks in the last runs; no figure shows so many: take older lines out");
    }
  });
  if (!stopped.first()) std::swap(stopped, last_stopped);

  RunHistory history;
  std::map<std::int64_t, LossPoint> validations;
  for (const Part* part : {&continuous, &stopped, &resumed}) {
    validations.insert(part->validations.begin(), part->validations.end());  // of several at one update the first
  }
  for (const auto& [update, point] : validations) history.loss.validation.push_back(point);
  if (resumed.first()) {
    history.loss.stopped_at = *resumed.first() - 1;
  } else if (stopped.last()) {
    history.loss.stopped_at = stopped.last();
  }
  history.loss.continuous = std::move(continuous.losses);
  history.loss.stopped = std::move(stopped.losses);
  history.loss.resumed = std::move(resumed.losses);
  for (Part* part : {&continuous, &stopped, &resumed}) append_windows(history, std::move(*part));
  return history;
}

}  // namespace

RunHistory run_history(const MetricsLines& lines) {
  try {
    return history_of(lines);
  } catch (const Json::exception& error) {
    throw InputError("plot", std::string("metrics.jsonl: not as samegrad train writes it: ") + error.what() +
                                 "; train again in a fresh folder");
  }
}

RunHistory run_history(std::span<const Json> metrics_lines) {
  return run_history([&](const std::function<void(const Json&)>& take) {
    for (const Json& line : metrics_lines) take(line);
  });
}

}  // namespace samegrad
