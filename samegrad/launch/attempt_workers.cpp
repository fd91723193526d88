#include "samegrad/launch/attempt_workers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "samegrad/comm/environment.h"
#include "samegrad/comm/status_record.h"
#include "samegrad/launch/descendants.h"
#include "samegrad/launch/error_file.h"
#include "samegrad/launch/rank_place.h"

namespace samegrad {

MeetingFile::MeetingFile(bool share_memory, int processes)
    : variable_(share_memory ? kSharedMemoryVariable : kStoreFileVariable),
      fd_(share_memory ? create_shared_memory(processes) : create_store_file()) {}

MeetingFile::~MeetingFile() { close(fd_); }

AttemptWorkers::AttemptWorkers(const LaunchOptions& options, const AttemptStart& start, const sigset_t& signal_mask,
                               OutputRelay& relay, const std::optional<StoreAddress>& store)
    : options_(options),
      start_(start),
      started_ns_(realtime_ns()),
      meeting_(options.share_memory, start.processes),
      ranks_(meeting_.fd(), options.share_memory, start.processes),
      ended_by_launcher_(static_cast<std::size_t>(start.processes), false) {
  for (int rank = 0; rank < start.processes; ++rank) {
    workers_.emplace_back(program_of(rank, signal_mask, relay, store));
  }
  relay.let_go();
}

WorkerProgram AttemptWorkers::program_of(int rank, const sigset_t& signal_mask, const OutputRelay& relay,
                                         const std::optional<StoreAddress>& store) const {
  WorkerProgram program;
  program.path = options_.program;
  program.arguments = start_.arguments;
  program.environment = options_.environment;
  const auto add = [&](const EnvironmentVariables& variables) {
    program.environment.insert(program.environment.end(), variables.begin(), variables.end());
  };
  add(place_variables(rank, start_.processes));
  add({{meeting_.variable(), std::to_string(meeting_.fd())}});
  if (const std::filesystem::path folder = status_folder(); folder.parent_path() == start_.folder) {
    add({{kStatusFolderVariable, folder.string()}});
  }
  if (options_.torchrun_environment) {
    add(torchrun_variables(rank,
                           {.attempt = start_.attempt,
                            .max_restarts = options_.restarts.max_restarts,
                            .processes = start_.processes,
                            .run_id = options_.run_id,
                            .store = store},
                           error_file(rank)));
  }
  program.inherited_fds = {meeting_.fd()};
  program.output_fd = relay.output_fd(rank);
  program.error_fd = relay.error_fd(rank);
  program.signal_mask = signal_mask;
  return program;
}

/// Its caller's, where that wants the records to be found by others.
std::filesystem::path AttemptWorkers::status_folder() const {
  for (const auto& [name, value] : options_.environment) {
    if (name == kStatusFolderVariable) {
      return value;
    }
  }
  return start_.folder / "status";
}

std::filesystem::path AttemptWorkers::error_file(int rank) const {
  return start_.folder / ("error-" + std::to_string(rank) + ".json");
}

bool AttemptWorkers::any_runs() const { return std::ranges::any_of(workers_, &WorkerProcess::running); }

bool AttemptWorkers::collect(int passed_signal) {
  bool others_may_wait = false;
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    if (const std::optional<WorkerEnd> end = workers_[index].reap()) {
      others_may_wait = take_end(static_cast<int>(index), *end, passed_signal) || others_may_wait;
    }
  }
  reap_orphans();
  return others_may_wait;
}

bool AttemptWorkers::take_end(int rank, WorkerEnd end, int passed_signal) {
  const auto index = static_cast<std::size_t>(rank);
  WorkerOutcome outcome{rank, workers_[index].pid(), end, ended_by_launcher_[index], workers_[index].read_report()};
  outcome.reported_itself = outcome.report.has_value();
  if (outcome.report && outcome.report->culprit_rank == kCulpritNotJoined) {
    outcome.report->culprit_rank = first_not_joined();
  }
  if (!outcome.report && code_of(outcome) != 0) {
    if (std::optional<std::string> message = read_error_file(error_file(rank))) {
      outcome.report = FailureReport{rank, code_of(outcome), *std::move(message), -1};
    }
  }
  if (!outcome.report && has_failed(outcome, passed_signal) && (end.signal == 0 || end.signal == SIGABRT)) {
    // A program that does not report: its exception is the story that the ranks have of the failure, or comes after it.
    if (const std::optional<PeerStory> story = ranks_.story();
        story && ranks_.has_joined(rank) && story->culprit_rank >= 0 && story->culprit_rank != rank) {
      outcome.report = FailureReport{rank, code_of(outcome), "[comm] " + story->text, story->culprit_rank};
    }
  }
  outcome.place = rank_place(status_folder(), rank, started_ns_);
  outcomes_.push_back(outcome);
  if (!ranks_.has_joined(rank)) {
    const bool told = ranks_.tell_of_end(
        rank, outcome.pid,
        "its process ended with " + how_it_ended(outcome) + " before it joined the others (samegrad::init())");
    if (!told && code_of(outcome) == 0 && !early_end_) {
      early_end_ = outcomes_.size() - 1;
    }
  }
  // A worker that died of the passed signal before it had a handler is no failure, but the others may wait for it
  // where they cannot see it: before they have joined.
  return has_failed(outcome, passed_signal) || end.signal != 0;
}

int AttemptWorkers::first_not_joined() const {
  for (int rank = 0; rank < start_.processes; ++rank) {
    if (!ranks_.has_joined(rank)) {
      return rank;
    }
  }
  return -1;
}

bool AttemptWorkers::finds_vain_wait() {
  if (!early_end_ || !any_runs() || !ranks_.any_has_joined()) {
    return false;
  }
  outcomes_[*early_end_].kept_others_waiting = true;
  early_end_.reset();
  return true;
}

/// Children of workers that are gone. Workers are reaped by themselves.
void AttemptWorkers::reap_orphans() {
  for (;;) {
    siginfo_t info{};
    const auto is_the_one = [&](const WorkerProcess& worker) {
      return worker.running() && worker.pid() == info.si_pid;
    };
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
        std::ranges::any_of(workers_, is_the_one)) {
      return;
    }
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

void AttemptWorkers::send(int signal) const {
  for (const WorkerProcess& worker : workers_) {
    worker.send(signal);
  }
}

void AttemptWorkers::mark_running_as_ended() {
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    ended_by_launcher_[index] = ended_by_launcher_[index] || workers_[index].running();
  }
}

void AttemptWorkers::kill_all() {
  mark_running_as_ended();
  send(SIGKILL);
  signal_descendants(SIGKILL);
}

}  // namespace samegrad
