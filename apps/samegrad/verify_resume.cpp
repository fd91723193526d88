// `samegrad verify-resume`: stopped and resumed runs beside the one that was not, update by update.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/generated_files.h"
#include "apps/samegrad/prepare_run.h"
#include "apps/samegrad/resume_legs.h"
#include "apps/samegrad/resume_schedules.h"
#include "apps/samegrad/writable_folder.h"
#include "samegrad/base/error.h"
#include "samegrad/base/folder_lock.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/manifest.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

/// The config of the runs here, which stop elsewhere than the user's own. Throws InputError, for any of --backends too.
RunConfig config_without_stop(const CommandLine& line) {
  std::vector<std::string> overrides = line.overrides;
  overrides.emplace_back("plan.stop_at=0");
  for (const std::string& backend : line.backends) {
    std::vector<std::string> with_backend = overrides;
    with_backend.push_back("--backend=" + backend);
    load_config(line.config, with_backend);  // refuses what is not built
  }
  return load_config(line.config, overrides);
}

ScheduleOutcome outcome_of(const ResumeSchedule& schedule, const UpdateLines& reference, const UpdateLines& lines,
                           std::int64_t updates) {
  ScheduleOutcome outcome{.schedule = schedule, .updates = updates};
  if (const auto last = lines.find(updates); last != lines.end()) {
    outcome.final_parameters = last->second.value("parameters_xxh3", "");
    outcome.hash_chain = last->second.value("hash_chain", "");
  }
  outcome.divergence = first_divergence(reference, lines, updates);
  return outcome;
}

/// The schedule, ended at `update`.
ResumeSchedule cut_at(const ResumeSchedule& schedule, std::int64_t update) {
  ResumeSchedule cut{schedule.backend, {}};
  for (const ResumeLeg& leg : schedule.legs) {
    cut.legs.push_back({leg.processes, std::min(leg.last_update, update)});
    if (leg.last_update >= update) {
      break;
    }
  }
  return cut;
}

GeneratedFiles without_what_is_prepared(GeneratedFiles files, const RunPaths& paths) {
  std::erase_if(files.files, [&](const GeneratedFile& file) {
    return file.path.parent_path() == paths.data_dir || file.path == paths.data_lock || file.path == paths.plan ||
           file.path == paths.init;
  });
  return files;
}

class Proof {
 public:
  Proof(const CommandLine& line, const RunConfig& config, const RunPaths& work)
      : work_(work), legs_(line, config, work) {}

  /// Makes all runs. Returns 0, or the exit code of a leg that failed.
  int make(const std::vector<ResumeSchedule>& schedules) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const std::string title = std::to_string(i + 1) + "/" + std::to_string(schedules.size());
      if (const int code = legs_.run(schedules[i], title); code != 0) {
        return code;
      }
      const UpdateLines lines = legs_.lines_of_last_run();
      if (i == 0) {
        reference_ = lines;
      }
      result_.outcomes.push_back(outcome_of(schedules[i], reference_, lines, result_.updates));
    }
    return 0;
  }

  /// Makes the reference and the first schedule that differs once more, up to where they part, and compares their
  /// parameters there.
  int find_parameter() {
    const auto found = std::ranges::find_if(result_.outcomes, [](const auto& o) { return o.divergence.has_value(); });
    if (found == result_.outcomes.end()) {
      return 0;
    }
    const std::int64_t update = found->divergence->update;
    const ResumeSchedule reference = cut_at(result_.outcomes.front().schedule, update);
    const ResumeSchedule schedule = cut_at(found->schedule, update);
    if (const int code = run_again(reference, "again, the reference", work_.diverged_reference); code != 0) {
      return code;
    }
    const UpdateLines reference_lines = legs_.lines_of_last_run();
    if (const int code = run_again(schedule, "again, " + schedule_text(schedule), work_.diverged_schedule); code != 0) {
      return code;
    }
    found->repeated = first_divergence(reference_lines, legs_.lines_of_last_run(), update).has_value();
    const Comparison comparison = compare_tensor_files(work_.diverged_schedule, work_.diverged_reference);
    found->elements = comparison.elements;
    found->different = comparison.different;
    if (comparison.different > 0) {
      found->parameter = comparison.worst;
    }
    return 0;
  }

  ResumeProof& result() { return result_; }

 private:
  int run_again(const ResumeSchedule& schedule, const std::string& title, const std::filesystem::path& kept) const {
    const int code = legs_.run(schedule, title);
    if (code == 0) {
      std::filesystem::copy_file(work_.checkpoints / step_folder_name(schedule.legs.back().last_update) / kModelFile,
                                 kept, std::filesystem::copy_options::overwrite_existing);
    }
    return code;
  }

  const RunPaths& work_;
  ResumeLegs legs_;
  UpdateLines reference_;
  ResumeProof result_;
};

}  // namespace

int run_verify_resume(const CommandLine& command) {
  const RunConfig config = config_without_stop(command);
  const RunPaths work(RunPaths(command.run).verify_resume);
  const PassingFolder folder(work.data_dir);  // goes again where the command is refused
  const FolderLock lock(work.run, "verify-resume");
  const GeneratedFiles earlier = find_generated(work);
  prepare_run(config, work, {}, [&](const OpenedRun& run) {
    choose_schedules(command, config, *run.plan, updates_to_compare(command, *run.plan));
  });
  remove_generated(without_what_is_prepared(earlier, work));
  const OpenedRun run = open_run(config, work);

  Proof proof(command, config, work);
  proof.result().updates = updates_to_compare(command, *run.plan);
  proof.result().total_updates = run.plan->updates();
  const std::vector<ResumeSchedule> schedules = choose_schedules(command, config, *run.plan, proof.result().updates);
  if (const int code = proof.make(schedules); code != 0) {
    return code;
  }
  if (const int code = proof.find_parameter(); code != 0) {
    return code;
  }
  const bool holds = proof.result().holds();
  if (holds && !command.keep) {
    remove_generated(find_generated(work));
    std::error_code left_something_else;
    std::filesystem::remove(work.run, left_something_else);
  } else {
    log_info("the runs' files are in " + work.run.string());
  }
  std::cout << (command.json ? result_text(resume_proof_to_json(proof.result())) + "\n"
                             : resume_proof_text(proof.result(), TextStyle{.colour = log_uses_colour()}));
  return holds ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace samegrad
