// `samegrad verify`: one window's gradient by all processes, against one process on the independent path.
#include <algorithm>
#include <iostream>
#include <utility>

#include "apps/samegrad/command_config.h"
#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/gradient_check.h"
#include "apps/samegrad/run_context.h"
#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/resume_rules.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/comm/leader_work.h"
#include "samegrad/report/verification.h"
#include "samegrad/train/control_gradients.h"
#include "samegrad/train/reference.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"
#include "samegrad/train/window_gradient.h"

namespace samegrad {
namespace {

// The weights to verify at, and after which update they were.
struct WeightsFrom {
  std::string description;
  std::int64_t update = 0;
};

WeightsFrom load_weights(const CommandLine& command, const RunContext& context, FlatParameters& parameters) {
  if (command.checkpoint.empty()) {
    load_parameters(context.paths.init, parameters);
    return {"initial, " + context.paths.init.string(), 0};
  }
  const Checkpoint checkpoint = checkpoint_to_verify(command);
  check_resume(checkpoint, context.config, *context.run.plan, context.run.data.lock);
  load_parameters(checkpoint.path / "model.safetensors", parameters);
  return {checkpoint.path.string() + ", after update " + std::to_string(checkpoint.update), checkpoint.update};
}

std::int64_t update_to_verify(const CommandLine& command, const UpdatePlan& plan, std::int64_t weights_update) {
  const std::int64_t update = command.update > 0 ? command.update : weights_update + 1;
  if (update > plan.updates()) {
    throw InputError("verify", "update " + std::to_string(update) + ": this run has updates 1 to " +
                                   std::to_string(plan.updates()) + "; choose one with --update");
  }
  return update;
}

// Where no rank has a token there is no gradient to verify: InputError.
std::vector<RankTokens> tokens_by_rank(const RunContext& context, const PlanWindow& window) {
  std::vector<RankTokens> ranks;
  for (const AtomRange& range : rank_ranges(static_cast<std::int64_t>(window.atoms.size()), context.comm->size())) {
    RankTokens& rank = ranks.emplace_back();
    rank.atoms = range.size();
    const Objective objective = training_objective(context.config, *context.run.data.train);
    for (const PackedBatch& atom : window_batches(window, range, *context.run.data.train, objective).atoms) {
      rank.samples += atom.samples();
      rank.tokens += atom.supervised_tokens();
    }
  }
  if (std::ranges::all_of(ranks, [](const RankTokens& rank) { return rank.tokens == 0; })) {
    throw InputError("verify", "update " + std::to_string(window.update) +
                                   ": 0 supervised tokens in its window, which has no gradient; choose another with "
                                   "--update");
  }
  return ranks;
}

template <typename Element>
PrecisionFacts against_reference(const WindowGradient& window, const ReferenceResult& reference,
                                 const FlatLayout& layout, const Tolerance& tolerance) {
  LossSum loss{reference.loss_sum, reference.units};
  if (window.loss.weight) loss.weight = reference.divisor;
  return {.loss = window.loss,
          .reference = loss,
          .gradient = compare_tensors(parameter_views(layout, window.gradient.span<Element>()),
                                      reference_views(reference, layout), tolerance),
          .reference_tokens = reference.supervised_tokens};
}

std::vector<ControlOutcome> outcomes(const std::vector<ControlGradient>& controls, const FlatLayout& layout,
                                     std::span<const TensorView> reference) {
  std::vector<ControlOutcome> result;
  result.reserve(controls.size());
  for (const ControlGradient& control : controls) {
    result.push_back({compare_control(control, layout, reference), control.cannot_show});
  }
  return result;
}

void dump_gradients(const std::filesystem::path& folder, const FlatLayout& layout, const WindowGradient& single,
                    const WindowGradient& twice, std::int64_t update) {
  std::filesystem::create_directories(folder);
  const std::string number = std::to_string(update);
  const std::string name = "verify-" + std::string(4 - std::min<std::size_t>(4, number.size()), '0') + number;
  write_file_atomically(folder / (name + "-float32.safetensors"),
                        safetensors_bytes(parameter_views(layout, single.gradient.span<float>())));
  write_file_atomically(folder / (name + "-float64.safetensors"),
                        safetensors_bytes(parameter_views(layout, twice.gradient.span<double>())));
}

int verify_run(const CommandLine& command, const RunContext& context) {
  const RunConfig& config = context.config;
  const SampleSource& train = *context.run.data.train;
  const std::vector<NamedShape> shapes = named_shapes(parameter_specs(config.model));
  FlatParameters float32(shapes);
  FlatParameters float64(shapes, ElementType::kFloat64);
  WeightsFrom weights;
  PlanWindow window;
  std::vector<RankTokens> ranks;
  together(*context.comm, "verify", 0, context.timeout(), [&] {
    weights = load_weights(command, context, float32);
    window = context.run.plan->window(update_to_verify(command, *context.run.plan, weights.update));
    std::ranges::copy(float32.values(), float64.values<double>().begin());
    if (context.leader()) ranks = tokens_by_rank(context, window);
  });
  const WindowGradient single = window_gradient(config, train, window, context.run.digest, *context.comm, float32);
  const WindowGradient twice = window_gradient(config, train, window, context.run.digest, *context.comm, float64);

  int exit_code = 0;
  const auto judge = [&] {
    const FlatLayout& layout = float32.layout();
    if (!command.dump_gradients.empty()) dump_gradients(command.dump_gradients, layout, single, twice, window.update);
    const std::vector<Sample> samples = window_samples(window, train);
    const ReferenceResult single_reference =
        reference_gradient(config.model, config.objective, float32.tensors(), at::kFloat, samples);
    const ReferenceResult twice_reference =
        reference_gradient(config.model, config.objective, float64.tensors(), at::kDouble, samples);
    const Verification verification = judge_verification(
        {.update = window.update,
         .total_updates = context.run.plan->updates(),
         .weights = weights.description,
         .parameters = layout.parameter_elements(),
         .virtual_ranks = config.plan.virtual_ranks,
         .accumulation = config.plan.accumulation,
         .dropout = config.model.dropout,
         .float32 = against_reference<float>(single, single_reference, layout, Tolerance{}),
         .float64 = against_reference<double>(twice, twice_reference, float64.layout(), kFloat64Tolerance),
         .ranks = std::move(ranks),
         .controls = outcomes(control_gradients(config, train, window, float32), layout,
                              reference_views(single_reference, layout)),
         .counted = std::string(divisor_name(training_objective(config, train)))});
    if (command.json) {
      std::cout << result_text(verification_to_json(verification)) << "\n";
    } else {
      std::cout << verification_text(verification, TextStyle{.colour = log_uses_colour()});
    }
    exit_code = static_cast<int>(verification.exit_code());
  };
  together(*context.comm, "verify", window.update, context.timeout(), [&] {
    leader_works(*context.comm, {"verify", window.update, context.timeout()}, [&] {
      if (context.leader()) judge();
    });
  });
  std::int32_t shared = exit_code;
  context.comm->broadcast(std::as_writable_bytes(std::span(&shared, 1)), 0, {"exit code", 0, context.timeout()});
  return shared;
}

}  // namespace

int run_verify(const CommandLine& command) {
  const auto choose_weights = [&](const RunContext& context) {
    if (command.checkpoint.empty()) return std::int64_t{0};
    const Checkpoint checkpoint = checkpoint_to_verify(command);
    check_resume(checkpoint, context.config, *context.run.plan, context.run.data.lock);
    return checkpoint.update;
  };
  return in_run_context(command, [&](RunContext& context) { return verify_run(command, context); },
                        {.by_config =
                             [&](const RunContext& context) {
                               if (!command.checkpoint.empty())
                                 check_resume_config(checkpoint_to_verify(command), context.config);
                             },
                         .by_data =
                             [&](const RunContext& context) {
                               const UpdatePlan& plan = *context.run.plan;
                               tokens_by_rank(context,
                                              plan.window(update_to_verify(command, plan, choose_weights(context))));
                             }});
}

}  // namespace samegrad
