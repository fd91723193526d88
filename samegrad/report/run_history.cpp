#include "samegrad/report/run_history.h"

#include <map>
#include <string>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/report/loss_divisor.h"

namespace samegrad {
namespace {

// Of updates, and of tokens in a line: sums of as many lines as a file has stay within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 40;

using Lines = std::vector<const Json*>;

// Run id of the last line of this kind; empty: there is none.
std::string last_run(std::span<const Json> lines, const char* kind) {
  std::string run;
  for (const Json& line : lines) {
    if (line.at("kind") == kind) run = line.at("run_id").get<std::string>();
  }
  return run;
}

Lines lines_of(std::span<const Json> lines, const char* kind, const std::string& run) {
  Lines result;
  for (const Json& line : lines) {
    if (line.at("kind") == kind && line.at("run_id") == run) result.push_back(&line);
  }
  return result;
}

LossPoint loss_point(const Json& line, const Json& loss) {
  return {whole_number(line.at("update"), 0, kMost), loss_from_json(loss)};
}

// Windows that nothing was learned from have no loss.
std::vector<LossPoint> loss_points(const Lines& lines) {
  std::vector<LossPoint> points;
  for (const Json* line : lines) {
    const LossPoint point = loss_point(*line, *line);
    if (point.loss.divisor() > 0.0) points.push_back(point);
  }
  return points;
}

void add_windows(RunHistory& history, const Lines& lines) {
  for (const Json* line : lines) {
    WindowTokens window{whole_number(line->at("update"), 0, kMost), {}};
    const Json& ranks = line->at("ranks");
    if (history.ranks.size() < ranks.size()) history.ranks.resize(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto tokens = whole_number(ranks[r].at("supervised_tokens"), 0, kMost);
      window.by_rank.push_back(tokens);
      history.ranks[r].supervised_tokens += tokens;
      history.ranks[r].compute_seconds += ranks[r].at("compute_seconds").get<double>();
      history.ranks[r].wait_seconds += ranks[r].at("wait_seconds").get<double>();
      history.ranks[r].exchange_seconds += ranks[r].at("exchange_seconds").get<double>();
    }
    history.windows.push_back(std::move(window));
  }
}

// Of several runs validated at one update, the first given.
void add_validations(std::map<std::int64_t, LossPoint>& points, const Lines& lines) {
  for (const Json* line : lines) {
    if (!line->contains("validation")) continue;
    const LossPoint point = loss_point(*line, line->at("validation"));
    points.emplace(point.update, point);
  }
}

RunHistory history_of(std::span<const Json> lines) {
  const std::string continuous_run = last_run(lines, "continuous");
  const std::string resumed_run = last_run(lines, "resumed");
  const Lines continuous = lines_of(lines, "continuous", continuous_run);
  const Lines resumed = lines_of(lines, "resumed", resumed_run);
  Lines stopped = lines_of(lines, "stopped", resumed_run);
  if (stopped.empty()) stopped = lines_of(lines, "stopped", last_run(lines, "stopped"));

  RunHistory history;
  history.loss.continuous = loss_points(continuous);
  history.loss.stopped = loss_points(stopped);
  history.loss.resumed = loss_points(resumed);
  if (!resumed.empty()) {
    history.loss.stopped_at = whole_number(resumed.front()->at("update"), 0, kMost) - 1;
  } else if (!stopped.empty()) {
    history.loss.stopped_at = whole_number(stopped.back()->at("update"), 0, kMost);
  }
  if (!continuous.empty()) {
    add_windows(history, continuous);
  } else {
    add_windows(history, stopped);
    add_windows(history, resumed);
  }
  std::map<std::int64_t, LossPoint> validations;
  for (const Lines* part : {&continuous, &std::as_const(stopped), &resumed}) add_validations(validations, *part);
  for (const auto& [update, point] : validations) history.loss.validation.push_back(point);
  return history;
}

}  // namespace

RunHistory run_history(std::span<const Json> metrics_lines) {
  try {
    return history_of(metrics_lines);
  } catch (const Json::exception& error) {
    throw InputError("plot", std::string("metrics.jsonl: not as samegrad train writes it: ") + error.what() +
                                 "; train again in a fresh folder");
  }
}

}  // namespace samegrad
