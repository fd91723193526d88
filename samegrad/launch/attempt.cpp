#include "samegrad/launch/attempt.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "samegrad/base/deadline.h"
#include "samegrad/base/fault_switch.h"
#include "samegrad/base/stopped_time.h"
#include "samegrad/launch/attempt_workers.h"
#include "samegrad/launch/descendants.h"
#include "samegrad/launch/memory_kills.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSameRequest{100};
/// After a failure others may take long to end: who failed is said before.
constexpr milliseconds kTellAfter{600};
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

/// The event loop, and how far the launcher has gone in ending its workers.
class Attempt {
 public:
  Attempt(const LaunchOptions& options, const AttemptStart& start, const GuardedSide& side)
      : options_(options),
        start_(start),
        side_(side),
        memory_kills_before_(memory_kills_so_far()),
        relay_(options.output, start.processes, start.attempt) {
    for (const std::string& line : start.news) {
      relay_.say(line);
    }
    if (!options.store.program.empty()) {
      store_.emplace(options.store);
    }
    workers_.emplace(options, start, side.signals.mask_before(), relay_,
                     store_ ? std::optional(store_->address()) : std::nullopt);
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
  /// Nothing that this launch started is left.
  bool all_is_over() {
    if (workers_->any_runs()) {
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

  /// Where nobody reads the launcher's own output, what was not shown in time is dropped.
  void show_the_rest() {
    relay_.finish();
    next_step_.reset();
    stop_deadline_.reset();
    std::size_t least = 0;
    for (std::size_t waits = relay_.waiting(); waits > 0; waits = relay_.waiting()) {
      if (!next_step_ || waits < least) {
        next_step_.emplace(kLongestShow);
        least = waits;
      }
      wait();
      if (next_step_->passed()) {
        relay_.drop();
        not_shown_ = waits;
      }
    }
  }

  int wait_ms() const {
    milliseconds least{-1};
    const auto take = [&](milliseconds left) { least = least.count() < 0 ? left : std::min(least, left); };
    for (const std::optional<Deadline>* const deadline : {&next_step_, &stop_deadline_, &tell_step_}) {
      if (*deadline) {
        take((*deadline)->left() + milliseconds{1});
      }
    }
    if (workers_->has_to_look()) {
      take(kStoreLook);
    }
    return static_cast<int>(least.count());
  }

  void wait() {
    std::vector<pollfd> polls{{side_.signals.fd(), POLLIN, 0}};
    if (!fault_switch("launcher-without-guard")) {
      polls.push_back({side_.guard_fd, POLLIN, 0});
    }
    if (store_ && store_->fd() >= 0) {
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

  /// The keeper has died, by whatever way.
  [[noreturn]] void leave_with_all() const {
    kill_descendants(kLongestKill);
    std::error_code ignored;
    std::filesystem::remove_all(start_.folder.parent_path(), ignored);
    _exit(1);
  }

  void pass_on(int signal) {
    if (signal == SIGTSTP || signal == SIGCONT) {
      signal == SIGTSTP ? stop_begins() : stop_ends();
      workers_->send(signal);
      return;
    }
    if (signal == SIGUSR1) {
      workers_->send(signal);
      return;
    }
    const int wish = signal == SIGHUP ? SIGTERM : signal;
    if (passed_signal_ == 0) {
      passed_signal_ = wish;
      same_request_.emplace(kSameRequest);
      stop_deadline_.emplace(options_.stop_grace);
      workers_->send(wish);
    } else if (signal != SIGHUP && same_request_->passed()) {  // a closed terminal may send several of those
      workers_->kill_all();
    }
    if (!workers_->any_runs()) {
      relay_.drop();
    }
  }

  void collect() {
    if (workers_->collect(passed_signal_) && !next_step_) {
      next_step_.emplace(options_.grace);
      tell_step_.emplace(kTellAfter);
    }
    if (workers_->finds_vain_wait()) {
      end_others();
    }
    if (store_ && store_->reap()) {
      relay_.say("warning: [launch] the workers' store has ended; those that still need it will fail");
    }
  }

  void take_due_steps() {
    if (tell_step_ && tell_step_->passed()) {
      tell_step_.reset();
      const LaunchResult so_far = summarize_launch(outcomes(), facts());
      // Ranks that agreed to fail say the same line, and are all on their way.
      const bool agreed = !so_far.lines.empty() && !so_far.lines.front().starts_with("[launch] rank") &&
                          so_far.failure.value("kind", std::string()) == "failed";
      if (workers_->any_runs() && !so_far.lines.empty() && !agreed) {
        relay_.say(so_far.lines.front() + " (other ranks have not ended yet)");
      }
    }
    if (stop_deadline_ && stop_deadline_->passed()) {
      stop_deadline_.reset();
      if (workers_->any_runs()) {
        relay_.say("warning: [launch] workers that had not ended " +
                   std::to_string(options_.stop_grace.count() / 1000) + " s after SIG" + sigabbrev_np(passed_signal_) +
                   " are killed (--grace)");
      }
      workers_->kill_all();
    }
    if (next_step_ && next_step_->passed()) {
      end_others();
    }
  }

  /// First asks those that still run to end, then makes them.
  void end_others() {
    workers_->mark_running_as_ended();
    const int signal = asked_to_end_ ? SIGKILL : SIGTERM;
    workers_->send(signal);
    if (asked_to_end_ || leftovers_) {
      signal_descendants(signal);
    }
    asked_to_end_ = true;
    next_step_.emplace(options_.term_grace);
  }

  LaunchFacts facts() const {
    return {.passed_signal = passed_signal_, .workers_report = options_.workers_report, .host = host_name()};
  }

  /// With what the launcher itself knows about them.
  std::vector<WorkerOutcome> outcomes() const {
    std::vector<WorkerOutcome> outcomes = workers_->outcomes();
    const std::int64_t memory_kills = memory_kills_so_far() - memory_kills_before_;
    for (WorkerOutcome& outcome : outcomes) {
      outcome.last_line = relay_.last_error_line(outcome.rank);
      outcome.error_log = relay_.error_log(outcome.rank);
      outcome.memory_kills = memory_kills;
    }
    return outcomes;
  }

  AttemptResult result() const {
    const std::vector<WorkerOutcome> ended = outcomes();
    AttemptResult result{.result = summarize_launch(ended, facts()), .end = {}};
    if (not_shown_ > 0) {
      result.result.lines.push_back("warning: [launch] nobody read this program's output: " +
                                    std::to_string(not_shown_) + " bytes were not shown");
    }
    AttemptEnd& end = result.end;
    end.processes = start_.processes;
    end.exit_code = result.result.exit_code;
    end.culprit_rank = result.result.culprit_rank;
    end.stopped = passed_signal_ != 0 || (end.exit_code != 0 && end.culprit_rank < 0);
    const auto culprit = std::ranges::find(ended, end.culprit_rank, &WorkerOutcome::rank);
    if (culprit != ended.end() && (culprit->reported_itself || options_.workers_report)) {
      const int code = culprit->reported_itself ? culprit->report->exit_code : code_of(*culprit);
      end.is_final = code == 2 || code == 3;
      end.done = culprit->reported_itself && culprit->report->done;
    }
    for (const WorkerOutcome& outcome : ended) {
      if (outcome.place) {
        end.update = std::max(end.update.value_or(0), outcome.place->update);
        end.collectives = std::max(end.collectives, outcome.place->collectives);
      }
    }
    if (options_.progress && options_.restarts.max_restarts > 0) {
      end.progress = options_.progress();
    }
    return result;
  }

  const LaunchOptions& options_;
  const AttemptStart& start_;
  const GuardedSide& side_;
  std::int64_t memory_kills_before_;
  OutputRelay relay_;
  std::optional<StorePort> store_;
  std::optional<AttemptWorkers> workers_;
  std::optional<Deadline> next_step_;
  std::optional<Deadline> tell_step_;
  std::optional<Deadline> stop_deadline_;
  std::optional<Deadline> same_request_;
  std::size_t not_shown_ = 0;
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
