#include "samegrad/launch/launch_summary.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>

#include "samegrad/base/error.h"
#include "samegrad/launch/culprit.h"

namespace samegrad {
namespace {

using Outcomes = std::span<const WorkerOutcome>;

constexpr int kKilledCode = 128 + SIGKILL;
constexpr int kCheckFailed = static_cast<int>(ExitCode::kCheckFailed);

std::string rank_name(const WorkerOutcome& outcome, const std::string& how) {
  return "[launch] rank " + std::to_string(outcome.rank) + " (pid " + std::to_string(outcome.pid) + ", " + how + ")";
}

std::string times(std::int64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

/// Why a process was killed from outside, as far as it can be known.
std::string kill_reason(const WorkerOutcome& culprit) {
  if (culprit.memory_kills > 0) {
    return "killed by the system, because the memory of its control group ran out (oom_kill in memory.events counted " +
           times(culprit.memory_kills) + ")";
  }
  return "killed from outside; the system does that when memory runs out (`dmesg` tells)";
}

/// What a program printed instead of a report.
std::string own_lines(const WorkerOutcome& culprit, bool workers_report) {
  const std::string place = culprit.error_log.empty() ? " above" : " in " + culprit.error_log;
  if (culprit.last_line) {
    return culprit.last_line->empty() ? "it left no message"
                                      : "its own lines are" + place + ", the last one: " + *culprit.last_line;
  }
  if (!culprit.error_log.empty()) {
    return "its own lines are" + place;
  }
  return workers_report ? "it left no message" : "its own lines, if it left any, are above";
}

std::string message_of(const WorkerOutcome& culprit, bool workers_report) {
  if (culprit.report) {
    return culprit.report->message;
  }
  if (culprit.end.signal == SIGKILL) {
    return kill_reason(culprit);
  }
  if (culprit.end.signal != 0) {
    const bool said = culprit.last_line && !culprit.last_line->empty();
    return strsignal(culprit.end.signal) + (said ? "; " + own_lines(culprit, workers_report) : std::string());
  }
  const std::string lines = own_lines(culprit, workers_report);
  return culprit.end.exit_code != kKilledCode
             ? lines
             : lines + "; 137 is how a shell says that a program was ended by signal 9: " + kill_reason(culprit);
}

/// What the accuser says of a culprit that did not fail by itself.
std::string accusation(const Culprit& culprit) {
  return culprit.accuser == nullptr
             ? "before it joined the others (samegrad::init()), which were ended by the launcher"
             : "until rank " + std::to_string(culprit.accuser->rank) + " gave up: " + culprit.accuser->report->message;
}

std::string culprit_line(const Culprit& culprit, bool workers_report) {
  const WorkerOutcome& outcome = *culprit.outcome;
  switch (culprit.kind) {
    case CulpritKind::kSilent:
      return rank_name(outcome, "ended by the launcher") + " was waited for " + accusation(culprit);
    case CulpritKind::kLeft:
      return rank_name(outcome, how_it_ended(outcome)) +
             (culprit.accuser == nullptr ? " ended " : " ended before the others were done, and was waited for ") +
             accusation(culprit);
    case CulpritKind::kFailed:
      break;
  }
  const bool blames = outcome.report && outcome.report->culprit_rank >= 0;
  return rank_name(outcome, how_it_ended(outcome)) + (blames ? " gave up: " : " failed first: ") +
         message_of(outcome, workers_report);
}

std::string place_line(const WorkerOutcome& culprit, const std::string& host) {
  const RankPlace& place = *culprit.place;
  std::string line = "[launch] rank " + std::to_string(culprit.rank) + " was last seen " +
                     (host.empty() ? "" : "on " + host + " ") + "in " +
                     (place.update > 0 ? "update " + std::to_string(place.update) + ", " : "") + "phase " + place.phase;
  if (!place.call.empty()) {
    line += (place.in_call ? ", in " : ", after ") + place.call + " (its collective " +
            std::to_string(place.collectives) + ")";
  }
  return line;
}

std::string rank_list(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const int rank : ranks) {
    text += (rank == ranks.front() ? "" : ", ") + std::to_string(rank);
  }
  return text;
}

/// One line, "" where nothing followed. The first message stands for all: they say the same of the same culprit.
std::string consequences_line(Outcomes outcomes, const Culprit& culprit, int passed_signal) {
  std::string message;
  std::vector<int> failed;
  std::vector<int> ended;
  for (const WorkerOutcome& outcome : outcomes) {
    if (&outcome == culprit.outcome || &outcome == culprit.accuser) {
      continue;
    }
    if (outcome.ended_by_launcher) {
      ended.push_back(outcome.rank);
    } else if (has_failed(outcome, passed_signal)) {
      failed.push_back(outcome.rank);
      message = !message.empty() ? message : outcome.report ? outcome.report->message : how_it_ended(outcome);
    }
  }
  // Of another kind, the culprit's own line has the accuser's message already.
  if (culprit.kind == CulpritKind::kFailed && culprit.accuser != nullptr) {
    failed.push_back(culprit.accuser->rank);
    message = culprit.accuser->report->message;
  }
  const bool said =
      culprit.kind != CulpritKind::kFailed && culprit.accuser != nullptr && culprit.accuser->report->message == message;
  message = said ? "the same" : message;
  std::string line;
  if (!failed.empty()) {
    line += " " + rank_list(failed) + ": " + message;
  }
  if (!ended.empty()) {
    line += (line.empty() ? " " : "; ") + rank_list(ended) + ": ended by the launcher";
  }
  return line.empty() ? "" : "[launch] in consequence" + line;
}

/// The line that every worker reported, all of which failed, or "".
std::string common_message(Outcomes outcomes, int passed_signal) {
  std::string common;
  for (const WorkerOutcome& outcome : outcomes) {
    const bool failed = has_failed(outcome, passed_signal);
    if (!failed || !outcome.report || (!common.empty() && outcome.report->message != common)) {
      return "";
    }
    common = outcome.report->message;
  }
  return common;
}

/// Who failed, of ranks that all report the line of one of them.
std::string agreed_line(const Culprit& culprit, Outcomes outcomes) {
  std::vector<int> others;
  for (const WorkerOutcome& outcome : outcomes) {
    if (&outcome != culprit.outcome) {
      others.push_back(outcome.rank);
    }
  }
  return rank_name(*culprit.outcome, how_it_ended(*culprit.outcome)) + " failed first; in consequence " +
         rank_list(others) + ": the same line";
}

int exit_code_of(const Culprit& culprit) {
  if (culprit.kind == CulpritKind::kFailed) {
    return code_of(*culprit.outcome);
  }
  return culprit.accuser != nullptr ? code_of(*culprit.accuser) : 1;
}

int exit_code_without_culprit(Outcomes outcomes, int passed_signal) {
  int code = 0;
  for (const WorkerOutcome& outcome : outcomes) {
    const bool stopped = outcome.ended_by_launcher || (passed_signal != 0 && has_failed(outcome, passed_signal));
    code = std::max(code, stopped ? 128 + passed_signal : code_of(outcome));
  }
  return code;
}

Json place_json(const RankPlace& place) {
  return {{"update", place.update},
          {"phase", place.phase},
          {"collective", place.call},
          {"in_collective", place.in_call},
          {"collectives", place.collectives}};
}

Json outcome_json(const WorkerOutcome& outcome, const LaunchFacts& facts) {
  Json json{{"rank", outcome.rank}, {"host", facts.host}, {"pid", outcome.pid}};
  json["exit_code"] = outcome.end.signal == 0 ? Json(outcome.end.exit_code) : Json();
  json["signal"] = outcome.end.signal != 0 ? Json(outcome.end.signal) : Json();
  json["ended_by_launcher"] = outcome.ended_by_launcher;
  json["message"] = outcome.ended_by_launcher && !outcome.report ? "" : message_of(outcome, facts.workers_report);
  json["place"] = outcome.place ? place_json(*outcome.place) : Json();
  return json;
}

Json failure_json(Outcomes outcomes, const Culprit& culprit, const LaunchResult& result, const LaunchFacts& facts) {
  const char* const kind = culprit.kind == CulpritKind::kFailed   ? "failed"
                           : culprit.kind == CulpritKind::kSilent ? "silent"
                                                                  : "left";
  Json json{{"exit_code", result.exit_code}, {"kind", kind}, {"culprit", outcome_json(*culprit.outcome, facts)}};
  json["consequences"] = Json::array();
  for (const WorkerOutcome& outcome : outcomes) {
    if (&outcome != culprit.outcome && (outcome.ended_by_launcher || has_failed(outcome, facts.passed_signal))) {
      json["consequences"].push_back(outcome_json(outcome, facts));
    }
  }
  json["lines"] = result.lines;
  return json;
}

}  // namespace

LaunchResult summarize_launch(std::span<const WorkerOutcome> outcomes, const LaunchFacts& facts) {
  LaunchResult result;
  const auto gave_verdict = [](const WorkerOutcome& outcome) {
    return outcome.end.signal == 0 && outcome.end.exit_code == kCheckFailed && !outcome.report;
  };
  if (facts.workers_report && std::ranges::all_of(outcomes, gave_verdict)) {
    result.exit_code = kCheckFailed;  // all ranks ended as agreed, and what did not pass is in what they printed
    return result;
  }
  const std::optional<Culprit> culprit = find_culprit(outcomes, facts.passed_signal);
  if (!culprit) {
    result.exit_code = exit_code_without_culprit(outcomes, facts.passed_signal);
    return result;
  }
  result.exit_code = exit_code_of(*culprit);
  result.culprit_rank = culprit->outcome->rank;
  if (std::string common = common_message(outcomes, facts.passed_signal); !common.empty()) {
    result.lines.push_back(std::move(common));
    // A mistake in the input, or a damaged file, is not a rank's: unless it is so for one whose elders have passed it.
    const bool is_a_ranks = culprit->outcome->rank > 0 || result.exit_code == static_cast<int>(ExitCode::kRunFailed);
    if (culprit->accuser != nullptr && is_a_ranks) {
      result.lines.push_back(agreed_line(*culprit, outcomes));
      if (culprit->outcome->place) {
        result.lines.push_back(place_line(*culprit->outcome, facts.host));
      }
    }
  } else {
    result.lines.push_back(culprit_line(*culprit, facts.workers_report));
    if (std::string line = consequences_line(outcomes, *culprit, facts.passed_signal); !line.empty()) {
      result.lines.push_back(std::move(line));
    }
    if (culprit->outcome->place) {
      result.lines.push_back(place_line(*culprit->outcome, facts.host));
    }
  }
  result.failure = failure_json(outcomes, *culprit, result, facts);
  return result;
}

}  // namespace samegrad
