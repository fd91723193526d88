#include "samegrad/launch/launch_summary.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>

namespace samegrad {
namespace {

using Outcomes = std::span<const WorkerOutcome>;

int code_of(const WorkerOutcome& outcome) {
  return outcome.end.signal != 0 ? 128 + outcome.end.signal : outcome.end.exit_code;
}

bool is_consequence(const WorkerOutcome& outcome) {
  return outcome.ended_by_launcher || (outcome.report && outcome.report->culprit_rank >= 0);
}

std::string how_it_ended(const WorkerOutcome& outcome) {
  if (outcome.end.signal == 0) {
    return "exit code " + std::to_string(outcome.end.exit_code);
  }
  return "signal " + std::to_string(outcome.end.signal) + " SIG" + sigabbrev_np(outcome.end.signal);
}

/// The culprit: see summarize_launch.
const WorkerOutcome* find_culprit(Outcomes outcomes, int passed_signal) {
  const WorkerOutcome* first_consequence = nullptr;
  for (const WorkerOutcome& outcome : outcomes) {
    if (!has_failed(outcome, passed_signal) || outcome.ended_by_launcher) {
      continue;
    }
    if (!is_consequence(outcome)) {
      return &outcome;
    }
    first_consequence = first_consequence == nullptr ? &outcome : first_consequence;
  }
  return first_consequence;
}

std::string culprit_line(const WorkerOutcome& culprit) {
  std::string line = "[launch] rank " + std::to_string(culprit.rank) + " (pid " + std::to_string(culprit.pid) + ", " +
                     how_it_ended(culprit) + (is_consequence(culprit) ? ") gave up: " : ") failed first: ");
  if (culprit.report) {
    return line + culprit.report->message;
  }
  switch (culprit.end.signal) {
    case 0:
      return line + "it left no message";
    case SIGKILL:
      return line + "killed from outside; the system does that when memory runs out (`dmesg` tells)";
    default:
      return line + strsignal(culprit.end.signal);
  }
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
std::string consequences_line(Outcomes outcomes, const WorkerOutcome& culprit, int passed_signal) {
  std::string message;
  std::vector<int> failed;
  std::vector<int> ended;
  for (const WorkerOutcome& outcome : outcomes) {
    if (outcome.rank == culprit.rank) {
      continue;
    }
    if (outcome.ended_by_launcher) {
      ended.push_back(outcome.rank);
    } else if (has_failed(outcome, passed_signal)) {
      failed.push_back(outcome.rank);
      if (message.empty()) {
        message = outcome.report ? outcome.report->message : how_it_ended(outcome);
      }
    }
  }
  std::string line;
  if (!failed.empty()) {
    line += " " + rank_list(failed) + ": " + message;
  }
  if (!ended.empty()) {
    line += (line.empty() ? " " : "; ") + rank_list(ended) + ": ended by the launcher";
  }
  return line.empty() ? "" : "[launch] in consequence" + line;
}

/// The line that every worker that failed reported, or "".
std::string common_message(Outcomes outcomes, int passed_signal) {
  std::string common;
  for (const WorkerOutcome& outcome : outcomes) {
    if (!has_failed(outcome, passed_signal)) {
      continue;
    }
    if (!outcome.report || (!common.empty() && outcome.report->message != common)) {
      return "";
    }
    common = outcome.report->message;
  }
  return common;
}

}  // namespace

bool has_failed(const WorkerOutcome& outcome, int passed_signal) {
  const int code = code_of(outcome);
  const bool stopped_itself =
      outcome.end.signal == 0 && !outcome.report && (code == 128 + SIGTERM || code == 128 + SIGINT);
  const bool stopped_early = passed_signal != 0 && outcome.end.signal == passed_signal;
  return code != 0 && !stopped_itself && !stopped_early;
}

LaunchResult summarize_launch(std::span<const WorkerOutcome> outcomes, int passed_signal) {
  LaunchResult result;
  const WorkerOutcome* const culprit = find_culprit(outcomes, passed_signal);
  if (culprit == nullptr) {
    for (const WorkerOutcome& outcome : outcomes) {
      const int code = outcome.ended_by_launcher ? 128 + passed_signal : code_of(outcome);
      result.exit_code = std::max(result.exit_code, code);
    }
    return result;
  }
  result.exit_code = code_of(*culprit);
  if (std::string common = common_message(outcomes, passed_signal); !common.empty()) {
    const auto failed = std::ranges::count_if(outcomes, [&](const auto& o) { return has_failed(o, passed_signal); });
    if (failed == static_cast<std::ptrdiff_t>(outcomes.size())) {
      result.lines.push_back(std::move(common));
      return result;
    }
  }
  result.lines.push_back(culprit_line(*culprit));
  if (std::string line = consequences_line(outcomes, *culprit, passed_signal); !line.empty()) {
    result.lines.push_back(std::move(line));
  }
  return result;
}

}  // namespace samegrad
