// The workers of one attempt, what they meet in, and what becomes of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "samegrad/comm/launched_ranks.h"
#include "samegrad/launch/attempt.h"
#include "samegrad/launch/worker_outcome.h"
#include "samegrad/launch/worker_process.h"

namespace samegrad {

/// The anonymous file through which the workers find each other, and the variable that tells them its number.
class MeetingFile {
 public:
  MeetingFile(bool share_memory, int processes);
  ~MeetingFile();
  MeetingFile(const MeetingFile&) = delete;
  MeetingFile& operator=(const MeetingFile&) = delete;
  const char* variable() const { return variable_; }
  int fd() const { return fd_; }

 private:
  const char* variable_;
  int fd_;
};

class AttemptWorkers {
 public:
  /// Starts them; `relay` takes their output, `store` says where the store is. Throws as launch_workers. Local.
  AttemptWorkers(const LaunchOptions& options, const AttemptStart& start, const sigset_t& signal_mask,
                 OutputRelay& relay, const std::optional<StoreAddress>& store);

  bool any_runs() const;
  /// Reaps those that have ended, and orphans; tells ranks that wait about ranks that will not come. `passed_signal` as
  /// in summarize_launch. True where the others have to be given a time to end. Local.
  bool collect(int passed_signal);
  /// Whether ranks wait for one that is done and can only be ended: then it is marked, once. Local.
  bool finds_vain_wait();
  /// Whether it can only be found by looking again and again. Local.
  bool has_to_look() const { return early_end_.has_value(); }

  /// To all that run, and the processes in their groups. Local.
  void send(int signal) const;
  /// Those that run now did not end by themselves. Local.
  void mark_running_as_ended();
  void kill_all();

  /// In the order of their ends. Local.
  const std::vector<WorkerOutcome>& outcomes() const { return outcomes_; }

 private:
  WorkerProgram program_of(int rank, const sigset_t& signal_mask, const OutputRelay& relay,
                           const std::optional<StoreAddress>& store) const;
  std::filesystem::path status_folder() const;
  std::filesystem::path error_file(int rank) const;
  bool take_end(int rank, WorkerEnd end, int passed_signal);
  void reap_orphans();
  int first_not_joined() const;

  const LaunchOptions& options_;
  const AttemptStart& start_;
  std::int64_t started_ns_;
  MeetingFile meeting_;
  LaunchedRanks ranks_;
  std::vector<WorkerProcess> workers_;  // by rank
  std::vector<bool> ended_by_launcher_;
  std::vector<WorkerOutcome> outcomes_;
  std::optional<std::size_t> early_end_;  // of outcomes_: done before it joined, where nobody could be told so yet
};

}  // namespace samegrad
