// `samegrad exercise`: when is the mean of means right by accident, and what does the real model's gradient say?
#include <array>
#include <iostream>
#include <span>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/exercise_windows.h"
#include "apps/samegrad/gradient_check.h"
#include "apps/samegrad/run_context.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/objective/counter_example.h"
#include "samegrad/train/reference.h"
#include "samegrad/train/window_check.h"

namespace samegrad {
namespace {

struct Case {
  const char* prediction;
  std::span<const ExampleRank> ranks;
  CounterExample example;
  std::array<std::int64_t, 2> supervised_tokens{};
  GradientCheck gradient;
  bool means_agree = false;
};

// The real model on a window whose two ranks hold as many supervised tokens as the example's.
GradientCheck real_model(const Case& exercise, const RunContext& context, TrainState& state) {
  RunConfig config = context.config;
  config.plan.accumulation = 1;
  const ExerciseSource source(*context.run.data.train, exercise.supervised_tokens);
  const WindowCheck check = check_window(config, source, exercise_window(), context.run.digest, *context.comm, state);
  const ReferenceResult reference =
      reference_gradient(config.model, config.objective, state.parameters.tensors(), at::kFloat, source.samples());
  const FlatLayout& layout = state.parameters.layout();
  return compare_with_reference(check, layout, reference_views(reference, layout));
}

// Where the ranks hold equally many tokens no control shows: the mean of means is the right gradient.
const Comparison* wrong_mean(const Case& exercise) {
  for (const ControlFacts& control : exercise.gradient.controls) {
    if (control.name == control_name(Control::kMeanOfMeans)) return &control.against_reference;
  }
  return nullptr;
}

bool as_it_must_be(const Case& exercise) {
  const Comparison* wrong = wrong_mean(exercise);
  const bool wrong_is_rejected = wrong != nullptr && !wrong->within_tolerance();
  return exercise.gradient.exact.within_tolerance() &&
         (exercise.example.loss.mean_of_means == exercise.example.loss.global_mean) == exercise.means_agree &&
         wrong_is_rejected != exercise.means_agree;
}

Json to_json(const Case& exercise) {
  const Comparison* wrong = wrong_mean(exercise);
  Json json = counter_example_to_json(exercise.example);
  json["model_gradient"] = {{"right_worst_error", exercise.gradient.exact.worst.error},
                            {"right_outside", exercise.gradient.exact.outside},
                            {"mean_of_means_worst_error", wrong != nullptr ? Json(wrong->worst.error) : Json(nullptr)},
                            {"mean_of_means_outside", wrong != nullptr ? wrong->outside : 0},
                            {"components", exercise.gradient.exact.elements}};
  json["as_it_must_be"] = as_it_must_be(exercise);
  return json;
}

void print(const Case& exercise) {
  const CounterExample& example = exercise.example;
  std::cout << example.local_tokens[0] << " tokens at loss 1 with " << example.local_tokens[1] << " at loss 3\n"
            << "  predict: " << exercise.prediction << "\n"
            << "  mean of means " << example.loss.mean_of_means << ", mean over tokens " << example.loss.global_mean
            << "\n  the real model's gradient on such a window, " << exercise.gradient.exact.elements
            << " components against one process:\n    right form: worst error " << exercise.gradient.exact.worst.error
            << ", " << exercise.gradient.exact.outside << " outside the tolerance\n";
  if (const Comparison* wrong = wrong_mean(exercise)) {
    std::cout << "    mean of means: worst error " << wrong->worst.error << ", " << wrong->outside
              << " outside the tolerance\n";
  } else {
    std::cout << "    mean of means: the same gradient, since both ranks hold equally many tokens\n";
  }
  std::cout << "  " << (as_it_must_be(exercise) ? "as it must be" : "NOT as it must be") << "\n\n";
}

void require_the_lesson(const RunContext& context) {
  if (context.config.data.task != "lesson") {
    throw InputError("exercise", "data.task: '" + context.config.data.task +
                                     "', the exercise uses the lesson's model; leave --config away");
  }
  if (context.config.objective.unit != "token" || !context.config.objective.class_weights.empty() ||
      has_terms(context.config.objective)) {
    throw InputError("exercise",
                     "objective: '" + context.config.objective.unit +
                         "', with class weights, terms, or another unit than token; the exercise is about the mean "
                         "over tokens: leave --config away");
  }
}

int exercise_run(const CommandLine& command, const RunContext& context) {
  TrainState state = initial_state(context.config);
  load_parameters(context.paths.init, state.parameters);
  std::array<Case, 2> cases{
      Case{.prediction = "both ranks hold 12: the two means agree, and nothing shows the mistake",
           .ranks = kEqualRanks,
           .example = {},
           .gradient = {},
           .means_agree = true},
      Case{.prediction = "36 of 48 tokens cost 3: the mean over tokens is 2.5, the mean of means stays 2",
           .ranks = kLessonRanks,
           .example = {},
           .gradient = {},
           .means_agree = false}};
  bool holds = true;
  Json json = Json::array();
  for (Case& exercise : cases) {
    exercise.example = counter_example(exercise.ranks);
    exercise.supervised_tokens = {exercise.ranks[0].tokens, exercise.ranks[1].tokens};
    exercise.gradient = real_model(exercise, context, state);
    holds = holds && as_it_must_be(exercise);
    json.push_back(to_json(exercise));
    if (!command.json && context.leader()) print(exercise);
  }
  if (command.json && context.leader()) std::cout << result_text(json) << "\n";
  return holds ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace

int run_exercise(const CommandLine& command) {
  return in_run_context(command, [&](RunContext& context) { return exercise_run(command, context); },
                        {.by_config = require_the_lesson});
}

}  // namespace samegrad
