#include "apps/samegrad/training_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <utility>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/next_command.h"
#include "apps/samegrad/run_description.h"
#include "apps/samegrad/trained_on.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/step_name.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/config/load.h"
#include "samegrad/launch/worker_signals.h"
#include "samegrad/plan/atom_tree.h"
#include "samegrad/train/weighed_batch.h"

namespace samegrad {
namespace {

std::string kind_of(bool resumed, std::int64_t last_update, std::int64_t total_updates) {
  if (resumed) return "resumed";
  return last_update < total_updates ? "stopped" : "continuous";
}

std::string numbered(const char* prefix, std::int64_t update) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s-%04lld.safetensors", prefix, static_cast<long long>(update));
  return name.data();
}

}  // namespace

TrainingRun::TrainingRun(RunContext& context, const CommandLine& command, StartPoint start, TrainingProgress& progress)
    : context_(&context),
      command_(&command),
      run_id_(std::move(start.run_id)),
      resumed_from_(std::move(start.resumed_from)),
      trainer_(context.config, context.run.data.train, context.run.plan, *context.comm, context.run.digest,
               std::move(start.state)),
      first_update_(trainer_.state().update + 1),
      last_update_(context.config.plan.stop_at >= first_update_ ? context.config.plan.stop_at
                                                                : context.run.plan->updates()),
      kind_(kind_of(resumed_from_.has_value(), last_update_, context.run.plan->updates())),
      progress_(&progress) {
  progress.update = trainer_.state().update;
  if (resumed_from_) progress.saved = trainer_.state().update;
}

int TrainingRun::run() {
  if (nothing_left()) {
    // A crash just after the last checkpoint leaves no final parameters.
    if (!command_->dry_run) save_final_parameters(/*replace=*/false);
    return 0;
  }
  if (context_->leader()) {
    show_header();
    if (!command_->dry_run) show_notes();
  }
  if (command_->dry_run) {
    if (context_->leader()) std::cout << dry_run_text(*context_, first_update_);
    return 0;
  }
  together(*context_->comm, "train", 0, context_->timeout(), [&] {
    if (!context_->leader()) return;
    // A new run takes nothing from the metrics, and should not become the current one where they cannot be written; a
    // resume drops lines, which it makes again once it is recorded.
    if (!resumed_from_) open_log();
    legs_ = resumed_from_ ? run_legs(context_->paths, run_id_) : RunLegs();
    leg_ = legs_.begin(first_update_ - 1);
    write_json_file(context_->paths.current_run, {{"run_id", run_id_},
                                                  {"kind", kind_},
                                                  {"legs", legs_.to_json()},
                                                  {"command", command_to_json(*command_)},
                                                  {"config", config_to_json(context_->config)},
                                                  {"dispatch", dispatch_to_json(context_->dispatch)}});
    if (resumed_from_) open_log();
  });
  // Only now: a run that is refused leaves the records of the one before.
  keep_status_in(*context_->comm, context_->paths.status);
  while (trainer_.state().update < last_update_) {
    const UpdateResult result = one_update();
    if (result.action == WindowAction::kStop) {
      const int signal = agreed_signal();
      save();
      if (context_->leader()) show_summary("stopped by signal " + std::to_string(signal));
      return 128 + signal;
    }
    const std::optional<Evaluation> validation = validation_due(result.update);
    together(*context_->comm, "metrics", result.update, context_->timeout(), [&] {
      if (log_) log_->update_done(result, validation);
    });
    const std::int64_t every = context_->config.checkpoint.every;
    if (result.save_asked || (every > 0 && result.update % every == 0)) save(/*train_on=*/true);
  }
  save();
  save_final_parameters(/*replace=*/true);
  if (context_->leader()) {
    show_summary(last_update_ < context_->run.plan->updates() ? "stopped as asked" : "finished");
  }
  return 0;
}

void TrainingRun::open_log() {
  log_.emplace(MetricsLog(context_->paths.metrics, run_id_, kind_, first_update_ - 1), first_update_, last_update_,
               context_->config.logging.every);
}

bool TrainingRun::nothing_left() const {
  const std::int64_t update = trainer_.state().update;
  const std::int64_t total = context_->run.plan->updates();
  const std::int64_t asked = command_->stop_at;
  if (update < total && (asked == 0 || asked > update)) return false;
  if (context_->leader()) {
    std::cout << "already at update " << update << " of " << total << ": nothing is left to train"
              << (update < total ? " up to --stop-at " + std::to_string(asked) + "; give a later one"
                                 : "; to train longer, raise plan.updates or plan.epochs")
              << "\n";
  }
  return true;
}

UpdateResult TrainingRun::one_update() {
  UpdateWishes wishes{.stop = stop_signal() != 0,
                      .save = save_signal(),
                      .another_follows = trainer_.state().update + 1 < last_update_,
                      .first = [&] { async_save_.check(); }};
  if (command_->trace_ids && context_->leader()) {
    wishes.on_window = [&](const PlanWindow& window) { std::cout << trace_ids_text(window, context_->comm->size()); };
  }
  if (!command_->dump_gradients.empty()) {
    wishes.on_gradient = [&](std::span<const float> gradient) { dump_gradient(gradient); };
  }
  UpdateResult result = trainer_.train_update(wishes);
  progress_->update = trainer_.state().update;
  return result;
}

void TrainingRun::dump_gradient(std::span<const float> gradient) {
  const std::int64_t update = trainer_.state().update + 1;
  together(*context_->comm, "dump-gradients", update, context_->timeout(), [&] {
    if (!context_->leader()) return;
    const std::vector<TensorView> views = parameter_views(trainer_.state().parameters.layout(), gradient);
    write_file_atomically(std::filesystem::path(command_->dump_gradients) / numbered("gradients", update),
                          safetensors_bytes(views));
  });
}

std::optional<Evaluation> TrainingRun::validation_due(std::int64_t update) {
  if (!context_->run.data.validation) return std::nullopt;
  const std::int64_t every = context_->config.evaluation.every;
  if (update != last_update_ && (every == 0 || update % every != 0)) return std::nullopt;
  fault_point("evaluation", context_->comm->rank(), update);
  const SampleSource& validation = *context_->run.data.validation;
  note_phase(*context_->comm, "evaluation", update);
  return evaluate(trainer_.model(), validation, evaluation_objective(context_->config, validation),
                  context_->config.evaluation.batch_size, *context_->comm, context_->timeout());
}

void TrainingRun::save(bool train_on) {
  const std::int64_t update = trainer_.state().update;
  forget_save_signal();  // what comes from here on may want more than this checkpoint
  const CheckpointConfig& options = context_->config.checkpoint;
  const bool is_saved = update == saved_update_;
  if (is_saved && !options.async) return;
  together(*context_->comm, "save", update, context_->timeout(), [&] {
    if (!context_->leader()) return;
    async_save_.wait();
    if (is_saved) return;
    const std::filesystem::path& checkpoints = context_->paths.checkpoints;
    const bool replaces = std::filesystem::exists(checkpoints / step_folder_name(update));
    CheckpointContent content = training_content(trainer_.state(), context_->config, *context_->run.plan,
                                                 {run_id_, kind_, context_->run.data.lock});
    content.manifest_facts = manifest_facts(*context_);
    content.manifest_facts["leg"] = leg_;
    const auto done = [this, update, replaces, checkpoints, options](const std::filesystem::path& path) {
      progress_->saved = update;
      log_info("saved " + path.string() + (replaces ? ", in place of an older one" : ""));
      prune_checkpoints(checkpoints, run_id_, {.keep = options.keep, .keep_every = options.keep_every, .saved = update},
                        real_files(), legs_);
    };
    if (train_on && options.async) {
      async_save_.start(checkpoints, update, content, done);
    } else {
      done(save_checkpoint(checkpoints, update, content));
    }
  });
  saved_update_ = update;
  if (!train_on || !options.async) progress_->saved = update;
}

void TrainingRun::save_final_parameters(bool replace) {
  together(*context_->comm, "save", trainer_.state().update, context_->timeout(), [&] {
    if (!context_->leader()) return;
    const auto is_there = [&](const char* kind) {
      return std::filesystem::exists(context_->paths.final_parameters(kind));
    };
    if (!replace && (is_there("stopped") || is_there("continuous") || is_there("resumed"))) return;
    write_file_atomically(
        context_->paths.final_parameters(kind_),
        safetensors_bytes(parameter_views(trainer_.state().parameters.layout(), trainer_.state().parameters.values()),
                          trained_on(context_->run.data.lock, context_->run.digest)));
  });
}

int TrainingRun::agreed_signal() {
  const std::int32_t mine = stop_signal();
  std::vector<std::int32_t> all(static_cast<std::size_t>(context_->comm->size()));
  context_->comm->all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                             {"stop signal", trainer_.state().update, context_->timeout()});
  return *std::ranges::max_element(all);
}

void TrainingRun::show_header() const {
  RunHeader header = run_header(*context_, first_update_);
  header.run_id = run_id_;
  header.last_update = last_update_;
  header.action = resumed_from_ ? "resume from " + resumed_from_->string() : "train from scratch";
  if (last_update_ < header.total_updates) header.action += ", stop at update " + std::to_string(last_update_);
  if (!command_->quiet) std::cout << header_text(header, TextStyle{.colour = log_uses_colour()}) << std::flush;
}

void TrainingRun::show_notes() const {
  for (const std::string& note : context_->config.notes) log_info(note);
  for (const IngestReport& report : context_->run.data.reports) {
    const std::vector<std::string> told = ingest_lines(report);
    log_info(told.front());
    for (std::size_t i = 1; i < told.size(); ++i) log_warn(told[i]);
  }
  const std::int64_t atoms = context_->config.plan.atoms_per_window();
  if (context_->comm->size() > atoms) {
    log_warn(std::to_string(context_->comm->size()) + " processes share " + std::to_string(atoms) +
             " atoms (plan.virtual_ranks x plan.accumulation): " + std::to_string(context_->comm->size() - atoms) +
             " will have nothing to compute");
  }
}

void TrainingRun::show_summary(const std::string& outcome) {
  RunSummary summary = log_->summary();
  summary.outcome = outcome;
  summary.update = trainer_.state().update;
  summary.total_updates = context_->run.plan->updates();
  summary.places = {{"metrics", context_->paths.metrics.string()},
                    {"checkpoints", context_->paths.checkpoints.string()}};
  const bool finished = summary.update == summary.total_updates;
  summary.next = finished ? shell_command("evaluate", same_run(*command_)) : resume_command(*command_, summary.update);
  if (!command_->quiet) std::cout << summary_text(summary, TextStyle{.colour = log_uses_colour()}) << std::flush;
}

}  // namespace samegrad
