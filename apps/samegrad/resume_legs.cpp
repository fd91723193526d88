#include "apps/samegrad/resume_legs.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "apps/samegrad/start_worker.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/base/regular_file.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/report/metrics.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

class AppendedFile {
 public:
  explicit AppendedFile(const std::filesystem::path& path) : fd_(open_for_appending(path, "verify-resume")) {}
  ~AppendedFile() { close(fd_); }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

ResumeLegs::ResumeLegs(const CommandLine& line, const RunConfig& config, RunPaths work)
    : line_(&line), run_section_(config.run), work_(std::move(work)) {}

std::vector<std::string> ResumeLegs::arguments_of(const ResumeSchedule& schedule, std::size_t leg) const {
  std::vector<std::string> words{"train", "--quiet", "--run", work_.run.string()};
  if (!line_->config.empty()) {
    words.insert(words.end(), {"--config", line_->config});
  }
  for (const std::string& set : line_->overrides) {
    words.insert(words.end(), {"--set", set});
  }
  // The user's checkpoints and pruning are not what is checked.
  words.insert(words.end(), {"--set", "checkpoint.every=0", "--set", "checkpoint.keep=0", "--backend", schedule.backend,
                             "--stop-at", std::to_string(schedule.legs[leg].last_update)});
  if (leg > 0) {
    words.insert(words.end(),
                 {"--resume", (work_.checkpoints / step_folder_name(schedule.legs[leg - 1].last_update)).string()});
  }
  return words;
}

int ResumeLegs::run(const ResumeSchedule& schedule, const std::string& title) const {
  const AppendedFile log(work_.legs_log);
  std::int64_t first = 1;
  for (std::size_t leg = 0; leg < schedule.legs.size(); ++leg) {
    const auto [processes, last] = schedule.legs[leg];
    const std::string what = title + ": " + std::to_string(processes) + (processes == 1 ? " process" : " processes") +
                             ", updates " + std::to_string(first) + " to " + std::to_string(last);
    if (log_is_terminal()) {
      log_progress(what + " ...");
    }
    const auto start = std::chrono::steady_clock::now();
    RunSection run_section = run_section_;
    run_section.backend = schedule.backend;
    const int exit_code =
        launch_and_report(run_section, static_cast<int>(processes), arguments_of(schedule, leg), log.get());
    if (exit_code != 0) {
      log_warn(what + ": ended with exit code " + std::to_string(exit_code) + "; what it printed is in " +
               work_.legs_log.string());
      return exit_code;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    log_info(what + ", " + duration_text(seconds));
    first = last + 1;
  }
  return 0;
}

UpdateLines ResumeLegs::lines_of_last_run() const {
  const Json current = read_json_file(work_.current_run, "verify-resume");
  return lines_of_run(read_metrics(work_.metrics), current.value("run_id", ""));
}

}  // namespace samegrad
