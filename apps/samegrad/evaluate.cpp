// `samegrad evaluate`: losses under the final weights, and every check of the run, judged in outputs/report.json.
#include "samegrad/train/evaluate.h"

#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/gradient_check.h"
#include "apps/samegrad/reference_files.h"
#include "apps/samegrad/resume_facts.h"
#include "apps/samegrad/run_context.h"
#include "apps/samegrad/trained_on.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/comm/leader_work.h"
#include "samegrad/report/run_report.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_check.h"

namespace samegrad {
namespace {

constexpr std::int64_t kLessonParameters = 282'628;
constexpr double kLessonLeastMargin = 0.10;

// The newest of what trainings leave, of which another run's may be in the folder, too.
std::filesystem::path final_weights(const RunPaths& paths) {
  std::filesystem::path newest;
  for (const char* kind : {"resumed", "continuous", "stopped"}) {
    const std::filesystem::path file = paths.final_parameters(kind);
    if (!std::filesystem::exists(file)) continue;
    if (newest.empty() || std::filesystem::last_write_time(file) > std::filesystem::last_write_time(newest))
      newest = file;
  }
  if (newest.empty()) {
    throw InputError("evaluate", "no final weights in " + paths.outputs.string() + "; run samegrad train first");
  }
  return newest;
}

EvaluationFacts evaluate_split(const std::string& name, const SampleSource& source, const Model& model,
                               const RunContext& context) {
  const Evaluation evaluation = evaluate(model, source, evaluation_objective(context.config, source),
                                         context.config.evaluation.batch_size, *context.comm, context.timeout());
  EvaluationFacts facts{.name = name,
                        .loss = evaluation.loss,
                        .sequences = evaluation.samples,
                        .correct = evaluation.correct,
                        .majority_correct = evaluation.majority_correct,
                        .least_margin = std::nullopt,
                        .token_loss = evaluation.token_loss};
  if (context.config.data.task == "lesson" && name == "test") facts.least_margin = kLessonLeastMargin;
  return facts;
}

// Files under outputs/ and artifacts/: a refused window must leave none and change none. What cannot be listed cannot
// be written to by name either.
std::string listing(const RunPaths& paths) {
  std::string text;
  for (const std::filesystem::path& folder : {paths.outputs, paths.checkpoints}) {
    std::error_code error;
    constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
    for (auto entry = std::filesystem::recursive_directory_iterator(folder, kOptions, error);
         !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
      struct stat found {};
      if (lstat(entry->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
      text += entry->path().string() + " " + std::to_string(found.st_size) + " " +
              std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + "\n";
    }
  }
  return text;
}

ZeroWindowFacts zero_window_facts(const RunContext& context, TrainState& state) {
  const std::string before = listing(context.paths);
  const EmptyWindowCheck check = check_empty_window(context.config, context.run.digest, *context.comm, state);
  return {.ranks = context.comm->size(),
          .ranks_refused = check.ranks_refused,
          .message = check.message,
          .parameters_untouched = check.parameters_untouched,
          .nothing_written = before == listing(context.paths)};
}

int evaluate_run(const CommandLine& command, const RunContext& context) {
  TrainState state = initial_state(context.config);
  WindowCheck gradients;
  RunReportInput input{.run_id = {}, .task = context.config.data.task};
  together(*context.comm, "reference", 1, context.timeout(), [&] {
    load_parameters(context.paths.init, state.parameters);
    leader_works(*context.comm, {"reference", 1, context.timeout()}, [&] {
      if (context.leader() && !reference_is_current(context)) write_reference(context);
    });
  });
  gradients = check_window(context.config, *context.run.data.train, context.run.plan->window(1), context.run.digest,
                           *context.comm, state);
  input.zero_window = zero_window_facts(context, state);
  together(*context.comm, "evaluate", 0, context.timeout(),
           [&] { load_parameters(final_weights(context.paths), state.parameters); });
  const std::unique_ptr<Model> model = make_model(context.config.model, state.parameters.tensors());
  if (context.run.data.validation) {
    input.evaluations.push_back(evaluate_split("validation", *context.run.data.validation, *model, context));
  }
  if (context.run.data.test) {
    input.evaluations.push_back(evaluate_split("test", *context.run.data.test, *model, context));
  }

  int exit_code = 0;
  together(*context.comm, "report", 0, context.timeout(), [&] {
    if (!context.leader()) return;
    const FlatLayout& layout = state.parameters.layout();
    const SafetensorsFile reference(context.paths.reference32);
    GradientCheck check = compare_with_reference(gradients, layout, reference.tensors());
    input.parameters = layout.parameter_elements();
    if (input.task == "lesson") input.expected_parameters = kLessonParameters;
    input.gradient = std::move(check.exact);
    input.lesson_form = std::move(check.lesson_form);
    input.controls = std::move(check.controls);
    input.resume = resume_facts(context.paths);
    input.files = {context.paths.report.string(), context.paths.metrics.string(), context.paths.reference32.string()};
    const RunReport report = judge_run(std::move(input));
    const Json json = run_report_to_json(report);
    write_json_file(context.paths.report, json);
    if (command.json) {
      std::cout << result_text(json) << "\n";
    } else {
      std::cout << run_report_text(report, TextStyle{.colour = log_uses_colour()});
    }
    exit_code = static_cast<int>(report.exit_code());
  });
  std::int32_t shared = exit_code;
  context.comm->broadcast(std::as_writable_bytes(std::span(&shared, 1)), 0, {"exit code", 0, context.timeout()});
  return shared;
}

}  // namespace

int run_evaluate(const CommandLine& command) {
  return in_run_context(
      command, [&](RunContext& context) { return evaluate_run(command, context); },
      {.by_config =
           [](const RunContext& context) {
             TrainState state = initial_state(context.config);
             load_parameters(final_weights(context.paths), state.parameters);
           },
       .by_data =
           [](const RunContext& context) {
             for (const std::string& note : check_trained_on(final_weights(context.paths), context.run.data.lock)) {
               log_warn("[evaluate] " + note);
             }
           }});
}

}  // namespace samegrad
