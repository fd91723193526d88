#include "samegrad/launch/launch.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/launch_signals.h"
#include "samegrad/launch/worker_process.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSameRequest{100};

/// The anonymous file through which the workers find each other, and the variable that tells them its number.
class MeetingFile {
 public:
  explicit MeetingFile(const LaunchOptions& options)
      : variable_(options.share_memory ? kSharedMemoryVariable : kStoreFileVariable),
        fd_(options.share_memory ? create_shared_memory(options.processes) : create_store_file()) {}
  ~MeetingFile() { close(fd_); }
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  const char* variable() const { return variable_; }
  int fd() const { return fd_; }

 private:
  const char* variable_;
  int fd_;
};

/// The workers, and how far the launcher has gone in ending them.
class Launch {
 public:
  explicit Launch(const LaunchOptions& options)
      : options_(options), meeting_file_(options), ended_by_launcher_(options.processes, false) {
    for (int rank = 0; rank < options.processes; ++rank) {
      workers_.emplace_back(program_of(rank));
    }
  }

  LaunchResult run() {
    while (std::ranges::any_of(workers_, &WorkerProcess::running)) {
      for (const int signal : signals_.wait(next_step_ ? next_step_->left() + milliseconds{1} : milliseconds{-1})) {
        if (signal == SIGUSR1) {
          send_to_all(signal);
        } else if (signal != SIGCHLD) {
          pass_on(signal);
        }
      }
      collect();
      if (next_step_ && next_step_->passed()) {
        end_others();
      }
    }
    return summarize_launch(outcomes_, passed_signal_);
  }

 private:
  WorkerProgram program_of(int rank) const {
    const std::string rank_text = std::to_string(rank);
    const std::string size_text = std::to_string(options_.processes);
    WorkerProgram program;
    program.path = options_.program;
    program.arguments = options_.arguments;
    program.environment = options_.environment;
    program.environment.insert(program.environment.end(),
                               {{kRankVariable, rank_text},
                                {kWorldSizeVariable, size_text},
                                {kLocalRankVariable, rank_text},
                                {kLocalWorldSizeVariable, size_text},
                                {meeting_file_.variable(), std::to_string(meeting_file_.fd())}});
    program.inherited_fd = meeting_file_.fd();
    program.output_fd = options_.output_fd;
    program.signal_mask = signals_.mask_before();
    return program;
  }

  void pass_on(int signal) {
    if (passed_signal_ == 0) {
      passed_signal_ = signal;
      same_request_.emplace(kSameRequest);
      send_to_all(signal);
    } else if (same_request_->passed()) {
      mark_running_as_ended();
      send_to_all(SIGKILL);
    }
  }

  void collect() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      const std::optional<WorkerEnd> end = workers_[rank].reap();
      if (!end) {
        continue;
      }
      outcomes_.push_back(
          {static_cast<int>(rank), workers_[rank].pid(), *end, ended_by_launcher_[rank], workers_[rank].read_report()});
      // A worker that died of the passed signal before it had a handler is no failure, but the others may wait for it
      // where they cannot see it: before they have joined.
      const bool others_may_wait = has_failed(outcomes_.back(), passed_signal_) || end->signal != 0;
      if (others_may_wait && !next_step_) {
        next_step_.emplace(options_.grace);
      }
    }
  }

  /// First asks those that still run to end, then makes them.
  void end_others() {
    mark_running_as_ended();
    send_to_all(asked_to_end_ ? SIGKILL : SIGTERM);
    asked_to_end_ = true;
    next_step_.emplace(options_.term_grace);
  }

  void mark_running_as_ended() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      ended_by_launcher_[rank] = ended_by_launcher_[rank] || workers_[rank].running();
    }
  }

  void send_to_all(int signal) const {
    for (const WorkerProcess& worker : workers_) {
      worker.send(signal);
    }
  }

  const LaunchOptions& options_;
  LaunchSignals signals_;  // before the workers: none of their ends may be missed
  MeetingFile meeting_file_;
  std::vector<WorkerProcess> workers_;  // by rank
  std::vector<bool> ended_by_launcher_;
  std::vector<WorkerOutcome> outcomes_;  // in the order of their ends
  std::optional<Deadline> next_step_;
  std::optional<Deadline> same_request_;
  bool asked_to_end_ = false;
  int passed_signal_ = 0;
};

}  // namespace

LaunchResult launch_workers(const LaunchOptions& options) {
  if (options.processes < 1 || options.processes > kMostLocalProcesses) {
    throw InputError("launch", "number of processes: " + std::to_string(options.processes) + "; allowed are 1 to " +
                                   std::to_string(kMostLocalProcesses));
  }
  return Launch(options).run();
}

}  // namespace samegrad
