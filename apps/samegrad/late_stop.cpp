#include "apps/samegrad/late_stop.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "samegrad/base/error.h"
#include "samegrad/comm/awaited_rank.h"
#include "samegrad/comm/environment.h"
#include "samegrad/launch/failure_report.h"
#include "samegrad/launch/worker_signals.h"

namespace samegrad {
namespace {

constexpr std::chrono::seconds kLongestReport{1};

}  // namespace

std::shared_ptr<void> LateStop::watch(const Communicator& comm) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    comm_ = &comm;
    joined_ = true;
  }
  return {this, [](LateStop* self) {
            const std::lock_guard<std::mutex> lock(self->mutex_);
            self->comm_ = nullptr;
          }};
}

void LateStop::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::optional<AwaitedRank> awaited = comm_ == nullptr ? std::nullopt : awaited_rank(*comm_);
  const std::int64_t saved = progress.saved;
  const std::string line =
      "[stop] signal " + std::to_string(stop_signal()) + " came " + std::to_string(grace_s_) + " s ago, and update " +
      std::to_string(progress.update) + " is not saved; " +
      (saved < 0 ? "this run has no checkpoint" : "the newest checkpoint is of update " + std::to_string(saved)) + "; ";
  FailureReport report;
  report.rank = read_worker_environment().rank;
  report.exit_code = static_cast<int>(ExitCode::kRunFailed);
  if (awaited) {
    report.message = line + awaited->message;
    report.culprit_rank = awaited->rank;
  } else if (!joined_) {
    report.message = line + "not all ranks have joined";
    report.culprit_rank = kCulpritNotJoined;
  } else {
    report.message = line + "give more time with --grace, or save more often (checkpoint.every)";
  }
  // Where nobody reads what it says, it ends all the same.
  std::thread([] {
    std::this_thread::sleep_for(kLongestReport);
    _exit(static_cast<int>(ExitCode::kRunFailed));
  }).detach();
  write_failure_report(report);
  _exit(static_cast<int>(ExitCode::kRunFailed));
}

}  // namespace samegrad
