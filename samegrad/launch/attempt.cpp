#include "samegrad/launch/attempt.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "samegrad/base/deadline.h"
#include "samegrad/base/fault_switch.h"
#include "samegrad/base/log.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/launched_ranks.h"
#include "samegrad/launch/descendants.h"
#include "samegrad/launch/error_file.h"
#include "samegrad/launch/memory_kills.h"
#include "samegrad/launch/worker_variables.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSameRequest{100};
/// For what workers started and left running.
constexpr milliseconds kLeftoverGrace{500};
constexpr milliseconds kLongestKill{5'000};
/// For a reader of this program's output that has stopped reading.
constexpr milliseconds kLongestShow{60'000};
/// Between two looks into a store file, which tells nobody when it changes.
constexpr milliseconds kStoreLook{200};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The anonymous file through which the workers find each other, and the variable that tells them its number.
class MeetingFile {
 public:
  MeetingFile(bool share_memory, int processes)
      : variable_(share_memory ? kSharedMemoryVariable : kStoreFileVariable),
        fd_(share_memory ? create_shared_memory(processes) : create_store_file()) {}
  ~MeetingFile() { close(fd_); }
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  const char* variable() const { return variable_; }
  int fd() const { return fd_; }

 private:
  const char* variable_;
  int fd_;
};

/// Whether this process has children, zombies included.
bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// The workers, and how far the launcher has gone in ending them.
class Attempt {
 public:
  Attempt(const LaunchOptions& options, const AttemptStart& start, const GuardedSide& side)
      : options_(options),
        start_(start),
        side_(side),
        meeting_(options.share_memory, start.processes),
        ranks_(meeting_.fd(), options.share_memory, start.processes),
        relay_(options.output, start.processes, start.attempt),
        memory_kills_before_(memory_kills_so_far()),
        ended_by_launcher_(static_cast<std::size_t>(start.processes), false) {
    if (!options.store.program.empty()) {
      store_.emplace(options.store);
    }
    for (int rank = 0; rank < start.processes; ++rank) {
      workers_.emplace_back(program_of(rank));
    }
    relay_.let_go();
  }

  AttemptResult run() {
    while (!all_is_over()) {
      wait();
      collect();
      take_due_steps();
    }
    show_the_rest();
    return result();
  }

 private:
  WorkerProgram program_of(int rank) const {
    WorkerProgram program;
    program.path = options_.program;
    program.arguments = start_.arguments;
    program.environment = options_.environment;
    const auto add = [&](const EnvironmentVariables& variables) {
      program.environment.insert(program.environment.end(), variables.begin(), variables.end());
    };
    add(place_variables(rank, start_.processes));
    add({{meeting_.variable(), std::to_string(meeting_.fd())}});
    if (options_.torchrun_environment) {
      const AttemptPlace place{.attempt = start_.attempt,
                               .max_restarts = options_.restarts.max_restarts,
                               .processes = start_.processes,
                               .run_id = options_.run_id,
                               .store = store_ ? std::optional(store_->address()) : std::nullopt};
      add(torchrun_variables(rank, place, error_file(rank)));
    }
    program.inherited_fds = {meeting_.fd()};
    program.output_fd = relay_.output_fd(rank);
    program.error_fd = relay_.error_fd(rank);
    program.signal_mask = side_.signals.mask_before();
    return program;
  }

  std::filesystem::path error_file(int rank) const {
    return start_.folder / ("error-" + std::to_string(rank) + ".json");
  }

  bool any_runs() const { return std::ranges::any_of(workers_, &WorkerProcess::running); }

  /// Where nobody reads the launcher's own output, what was not shown in time is dropped.
  void show_the_rest() {
    relay_.finish();
    next_step_.reset();
    stop_deadline_.reset();
    for (std::size_t waits = relay_.waiting(); waits > 0; waits = relay_.waiting()) {
      if (!next_step_ || waits < shown_least_) {
        next_step_.emplace(kLongestShow);
        shown_least_ = waits;
      }
      wait();
      if (next_step_->passed()) {
        log_warn("[launch] nobody reads this program's output: " + std::to_string(waits) + " bytes are not shown");
        relay_.drop();
      }
    }
  }

  /// Nothing that this launch started is left.
  bool all_is_over() {
    if (any_runs()) {
      return false;
    }
    if (store_) {
      store_->stop();
    }
    if (!has_children()) {
      return true;
    }
    if (!leftovers_) {
      leftovers_ = true;
      asked_to_end_ = false;
      next_step_.emplace(kLeftoverGrace);
    }
    return false;
  }

  int wait_ms() const {
    milliseconds least{-1};
    const auto take = [&](milliseconds left) { least = least.count() < 0 ? left : std::min(least, left); };
    for (const std::optional<Deadline>* const deadline : {&next_step_, &stop_deadline_}) {
      if (*deadline) {
        take((*deadline)->left() + milliseconds{1});
      }
    }
    if (early_end_) {
      take(kStoreLook);
    }
    return static_cast<int>(least.count());
  }

  void wait() {
    std::vector<pollfd> polls{{side_.signals.fd(), POLLIN, 0}};
    if (!fault_switch("launcher-without-guard")) {
      polls.push_back({side_.guard_fd, POLLIN, 0});
    }
    const bool listens = store_ && store_->fd() >= 0;
    if (listens) {
      polls.push_back({store_->fd(), POLLIN, 0});
    }
    const std::size_t own = polls.size();
    relay_.add_polls(polls);
    poll(polls.data(), polls.size(), wait_ms());
    for (std::size_t i = 1; i < own; ++i) {
      if (polls[i].revents != 0 && polls[i].fd == side_.guard_fd) {
        leave_with_all();
      } else if (polls[i].revents != 0) {
        store_->start(side_.signals.mask_before());
      }
    }
    for (const int signal : side_.signals.take()) {
      if (signal != SIGCHLD) {
        pass_on(signal);
      }
    }
    relay_.move();
  }

  /// The process that was started has died, by whatever way.
  [[noreturn]] void leave_with_all() const {
    kill_descendants(kLongestKill);
    std::error_code ignored;
    std::filesystem::remove_all(start_.folder.parent_path(), ignored);
    _exit(1);
  }

  void pass_on(int signal) {
    if (signal == SIGUSR1) {
      send_to_all(signal);
      return;
    }
    const int wish = signal == SIGHUP ? SIGTERM : signal;
    if (passed_signal_ == 0) {
      passed_signal_ = wish;
      same_request_.emplace(kSameRequest);
      stop_deadline_.emplace(options_.stop_grace);
      send_to_all(wish);
    } else if (same_request_->passed()) {
      kill_all();
    }
    if (!any_runs()) {
      relay_.drop();
    }
  }

  void kill_all() {
    mark_running_as_ended();
    send_to_all(SIGKILL);
    signal_descendants(SIGKILL);
  }

  void collect() {
    for (std::size_t index = 0; index < workers_.size(); ++index) {
      if (const std::optional<WorkerEnd> end = workers_[index].reap()) {
        take_end(static_cast<int>(index), *end);
      }
    }
    if (early_end_ && any_runs() && ranks_.any_has_joined()) {
      outcomes_[*early_end_].kept_others_waiting = true;
      early_end_.reset();
      end_others();
    }
    if (store_) {
      if (const std::optional<WorkerEnd> end = store_->reap()) {
        log_warn("[launch] the process that keeps the workers' store has ended; those that still need it will fail");
      }
    }
    reap_orphans();
  }

  void take_end(int rank, WorkerEnd end) {
    const auto index = static_cast<std::size_t>(rank);
    WorkerOutcome outcome{rank, workers_[index].pid(), end, ended_by_launcher_[index], workers_[index].read_report()};
    if (!outcome.report && code_of(outcome) != 0) {
      if (std::optional<std::string> message = read_error_file(error_file(rank))) {
        outcome.report = FailureReport{rank, code_of(outcome), *std::move(message), -1};
      }
    }
    outcomes_.push_back(outcome);
    // A worker that died of the passed signal before it had a handler is no failure, but the others may wait for it
    // where they cannot see it: before they have joined.
    const bool others_may_wait = has_failed(outcome, passed_signal_) || end.signal != 0;
    if (others_may_wait && !next_step_) {
      next_step_.emplace(options_.grace);
    }
    if (!ranks_.has_joined(rank)) {
      const bool told = ranks_.tell_of_end(
          rank, outcome.pid,
          "its process ended with " + how_it_ended(outcome) + " before it joined the others (samegrad::init())");
      if (!told && code_of(outcome) == 0 && !early_end_) {
        early_end_ = outcomes_.size() - 1;
      }
    }
  }

  /// Children of workers that are gone. Workers are reaped by themselves.
  void reap_orphans() {
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
          std::ranges::any_of(workers_, [&](const auto& w) { return w.running() && w.pid() == info.si_pid; })) {
        return;
      }
      waitpid(info.si_pid, nullptr, WNOHANG);
    }
  }

  void take_due_steps() {
    if (stop_deadline_ && stop_deadline_->passed()) {
      stop_deadline_.reset();
      if (any_runs()) {
        log_warn("[launch] workers that had not ended " + std::to_string(options_.stop_grace.count() / 1000) +
                 " s after SIG" + sigabbrev_np(passed_signal_) + " are killed (--grace)");
      }
      kill_all();
    }
    if (next_step_ && next_step_->passed()) {
      end_others();
    }
  }

  /// First asks those that still run to end, then makes them.
  void end_others() {
    mark_running_as_ended();
    const int signal = asked_to_end_ ? SIGKILL : SIGTERM;
    send_to_all(signal);
    if (asked_to_end_ || leftovers_) {
      signal_descendants(signal);
    }
    asked_to_end_ = true;
    next_step_.emplace(options_.term_grace);
  }

  void mark_running_as_ended() {
    for (std::size_t index = 0; index < workers_.size(); ++index) {
      ended_by_launcher_[index] = ended_by_launcher_[index] || workers_[index].running();
    }
  }

  void send_to_all(int signal) const {
    for (const WorkerProcess& worker : workers_) {
      worker.send(signal);
    }
  }

  AttemptResult result() {
    const std::int64_t memory_kills = memory_kills_so_far() - memory_kills_before_;
    for (WorkerOutcome& outcome : outcomes_) {
      outcome.last_line = relay_.last_error_line(outcome.rank);
      outcome.error_log = relay_.error_log(outcome.rank);
      outcome.memory_kills = memory_kills;
    }
    AttemptResult result;
    result.result = summarize_launch(
        outcomes_, {.passed_signal = passed_signal_, .workers_report = options_.workers_report, .host = host_name()});
    AttemptEnd& end = result.end;
    end.processes = start_.processes;
    end.exit_code = result.result.exit_code;
    end.stopped = passed_signal_ != 0 || (end.exit_code != 0 && result.result.lines.empty());
    end.culprit_rank = result.result.culprit_rank;
    const auto culprit = std::ranges::find(outcomes_, end.culprit_rank, &WorkerOutcome::rank);
    end.is_final = culprit != outcomes_.end() && culprit->report && options_.workers_report &&
                   (culprit->report->exit_code == 2 || culprit->report->exit_code == 3);
    for (const WorkerOutcome& outcome : outcomes_) {
      if (outcome.place) {
        end.update = std::max(end.update.value_or(0), outcome.place->update);
      }
    }
    if (options_.progress) {
      end.progress = options_.progress();
    }
    return result;
  }

  const LaunchOptions& options_;
  const AttemptStart& start_;
  const GuardedSide& side_;
  MeetingFile meeting_;
  LaunchedRanks ranks_;
  OutputRelay relay_;
  std::optional<StorePort> store_;
  std::int64_t memory_kills_before_;
  std::vector<WorkerProcess> workers_;  // by rank
  std::vector<bool> ended_by_launcher_;
  std::vector<WorkerOutcome> outcomes_;   // in the order of their ends
  std::optional<std::size_t> early_end_;  // of outcomes_: done before it joined, where nobody could be told so yet
  std::optional<Deadline> next_step_;
  std::optional<Deadline> stop_deadline_;
  std::optional<Deadline> same_request_;
  std::size_t shown_least_ = 0;
  bool asked_to_end_ = false;
  bool leftovers_ = false;
  int passed_signal_ = 0;
};

}  // namespace

AttemptResult run_attempt(const LaunchOptions& options, const AttemptStart& start, const GuardedSide& side) {
  std::filesystem::create_directories(start.folder);
  return Attempt(options, start, side).run();
}

}  // namespace samegrad
