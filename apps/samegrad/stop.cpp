// `samegrad stop RUN`: SIGTERM to the ranks of a training that run on this host, found by the records that they keep;
// ranks that are stopped (Ctrl-Z) are woken for it.
#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/commands.h"
#include "apps/samegrad/next_command.h"
#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/status_record.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {
namespace {

struct RunningRank {
  int rank = 0;
  std::unique_ptr<ProcessWatch> process;
};

struct FoundRanks {
  std::vector<RunningRank> here;
  std::set<std::string> other_hosts;
};

FoundRanks find_ranks(const std::filesystem::path& folder) {
  FoundRanks found;
  const std::string here = pid_space_of_this_process();
  for (const StatusReading& reading : read_status_folder(folder)) {
    if (!reading.status) continue;
    const RankStatus& status = *reading.status;
    if (status.state == RankState::kDone || status.state == RankState::kFailed) continue;
    if (status.pid_space != here || here.empty()) {
      found.other_hosts.insert(status.host);
      continue;
    }
    auto process = std::make_unique<ProcessWatch>(status.pid, status.start_time);
    if (!process->ended()) found.here.push_back({status.rank, std::move(process)});
  }
  return found;
}

std::string rank_list(const std::vector<RunningRank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const RunningRank& one : ranks) text += (&one == &ranks.front() ? "" : ", ") + std::to_string(one.rank);
  return text;
}

[[noreturn]] void refuse_absent(const RunPaths& paths, const std::set<std::string>& other_hosts) {
  std::string hosts;
  for (const std::string& host : other_hosts) hosts += (hosts.empty() ? "" : ", ") + host;
  throw InputError("stop", paths.run.string() + ": no rank of a training runs here" +
                               (hosts.empty() ? "; `samegrad status` shows what is known of it"
                                              : ", but maybe on " + hosts + "; run `samegrad stop` there"));
}

}  // namespace

int run_stop(const CommandLine& command) {
  constexpr timespec kBetweenLooks{0, 20'000'000};
  const RunPaths paths(command.run);
  require_run_folder("stop", paths);
  FoundRanks found = find_ranks(paths.status);
  if (found.here.empty()) refuse_absent(paths, found.other_hosts);
  for (const RunningRank& one : found.here) {
    if (!one.process->send(SIGTERM) && !one.process->ended()) {
      throw RunError("stop",
                     rank_list(found.here) + ": may not be signalled; only the user who started it may stop it");
    }
    one.process->send(SIGCONT);  // one that is stopped would not see SIGTERM before
  }
  std::cout << "asked " << rank_list(found.here) << " to stop" << std::endl;
  const std::int64_t wait_s = command.grace_s + 5;  // a training that is late says so itself, before
  const Deadline deadline{std::chrono::seconds(wait_s)};
  for (;;) {
    std::erase_if(found.here, [](const RunningRank& one) { return one.process->ended(); });
    if (found.here.empty()) break;
    if (deadline.passed()) {
      throw RunError("stop", rank_list(found.here) + ": still there after " + std::to_string(wait_s) +
                                 " s; `samegrad status` shows where, --grace waits longer");
    }
    nanosleep(&kBetweenLooks, nullptr);
  }
  // Other runs' checkpoints, and those that a resume took back, may be in the folder, too.
  const LatestCheckpoint newest = latest_checkpoint(paths);
  std::cout << "stopped; "
            << (newest.found ? "the newest checkpoint is " + newest.found->path.string() +
                                   "; go on with: " + resume_command(paths, newest.found->update)
                             : "it has no checkpoint")
            << "\n";
  return 0;
}

}  // namespace samegrad
