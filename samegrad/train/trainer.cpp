#include "samegrad/train/trainer.h"

#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/train/objective_terms.h"
#include "samegrad/train/schedule.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/whole_gradient.h"
#include "samegrad/train/window_batches.h"
#include "samegrad/train/wrapped_parameters.h"

namespace samegrad {

namespace {

// No libtorch and no state of the trainer in it: another thread may call it.
std::function<BuiltWindow(std::int64_t)> window_builder(const RunConfig& config,
                                                        const std::shared_ptr<const SampleSource>& train,
                                                        const std::shared_ptr<const UpdatePlan>& plan,
                                                        AtomRange range) {
  return [train, plan, range, objective = training_objective(config, *train)](std::int64_t update) {
    BuiltWindow built{.plan = plan->window(update), .batches = {}};
    built.batches = window_batches(built.plan, range, *train, objective);
    return built;
  };
}

}  // namespace

Trainer::Trainer(const RunConfig& config, const std::shared_ptr<const SampleSource>& train,
                 std::shared_ptr<const UpdatePlan> plan, Communicator& comm, std::string digest, TrainState state)
    : config_(&config),
      plan_(std::move(plan)),
      comm_(&comm),
      range_(rank_ranges(config.plan.atoms_per_window(), comm.size())[static_cast<std::size_t>(comm.rank())]),
      windows_(window_builder(config, train, plan_, range_)),
      builds_ahead_(config.data.prefetch > 0 && !train->is_in_memory()),
      digest_(std::move(digest)),
      timeout_(std::chrono::seconds(config.run.timeout_s)),
      state_(std::move(state)),
      model_(make_model(config.model, state_.parameters.tensors())),
      ddp_(wrap_parameters(state_.parameters, comm, config.run)) {}

UpdateResult Trainer::train_update(const UpdateWishes& wishes) {
  const auto start = std::chrono::steady_clock::now();
  UpdateResult result;
  result.update = state_.update + 1;
  note_phase(*comm_, "data", result.update);
  WindowRequest request{
      .atoms = range_.size(),
      .empty_window = config_->objective.empty_window == "skip" ? EmptyWindowPolicy::kSkip : EmptyWindowPolicy::kError,
      .update = result.update,
      .digest = digest_,
      .stop_asked = wishes.stop,
      .save_asked = wishes.save};
  BuiltWindow built;
  const PlanWindow& plan_window = built.plan;
  const WindowBatches& batches = built.batches;
  try {
    if (wishes.first) wishes.first();
    built = windows_.take(result.update);
    if (wishes.on_window) wishes.on_window(plan_window);
    result.epoch = plan_window.epoch;
    request_units(request, config_->objective, batches);
    result.supervised_tokens = batches.window_tokens;
  } catch (const Error& error) {
    request.failure = error.what();
    request.failure_exit_code = static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    request.failure = "[train] rank " + std::to_string(comm_->rank()) + ", update " + std::to_string(result.update) +
                      ": " + error.what();
  }
  fault_point("agreement", comm_->rank(), result.update);
  ModelWindow window = ddp_->window(request);
  result.action = window.decision().action;
  result.save_asked = window.decision().save_asked;
  if (result.action == WindowAction::kSkip) {
    ++state_.skipped_windows;
    pass(result, plan_window);
  }
  if (result.action != WindowAction::kTrain) return result;
  if (wishes.another_follows && builds_ahead_) windows_.start(result.update + 1);

  for (std::size_t i = 0; i < batches.atoms.size(); ++i) {
    run_atom(window, config_->objective, batches.units[i], [&] {
      fault_point("backward", comm_->rank(), result.update);
      const DropoutKey key{static_cast<std::uint64_t>(config_->seed), result.update, window.atom()};
      return atom_sums(*model_, state_.parameters.tensors(), config_->objective, batches.atoms[i], key, window.atom());
    });
  }
  note_phase(*comm_, "exchange", result.update);
  fault_point("exchange", comm_->rank(), result.update);
  window.reduce();
  result.loss = units_loss(window);
  result.terms.assign(window.term_losses().begin(), window.term_losses().end());
  note_phase(*comm_, "step", result.update);
  if (wishes.on_gradient) wishes.on_gradient(window.gradient());
  step(result, window);
  pass(result, plan_window);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  gather_shares(result, {batches.supervised_tokens, batches.input_tokens, window.seconds(), window.volume(),
                         window.gradient_buffers()});
  return result;
}

void Trainer::pass(UpdateResult& result, const PlanWindow& plan_window) {
  state_.update = plan_window.update;
  for (SamplerHistory& history : state_.histories) append_window(history, plan_window, config_->plan.accumulation);
  if (!result.stepped) {
    result.parameters_hash = elements_hash(state_.parameters.layout(), state_.parameters.values());
  }
  result.hash_chain = next_link(state_.hash_chain, state_.histories, result.gradient_hash, result.parameters_hash);
  state_.hash_chain = result.hash_chain;
}

void Trainer::step(UpdateResult& result, Window& window) {
  const FlatLayout& layout = state_.parameters.layout();
  NormAndHash gradient = norm_and_hash(layout, window.gradient());
  result.gradient_norm = gradient.norm;
  result.gradient_hash = std::move(gradient.hash);
  const bool finite = std::isfinite(result.gradient_norm) && std::isfinite(result.loss.sum);
  if (!finite && config_->optimizer.non_finite == "error") {
    throw RunError("train", "update " + std::to_string(result.update) + ": the gradient is not finite (norm " +
                                std::to_string(result.gradient_norm) + ", loss sum " + std::to_string(result.loss.sum) +
                                "); no parameter was changed; lower " +
                                "optimizer.learning_rate, or set optimizer.non_finite=skip to pass over such windows");
  }
  if (finite) {
    double rate = comm_->rank() == 0 ? learning_rate_at(state_.optimizer->steps() + 1, plan_->updates(),
                                                        config_->optimizer.learning_rate, config_->schedule)
                                     : 0.0;
    comm_->broadcast(std::as_writable_bytes(std::span(&rate, 1)), 0, {"learning rate", result.update, timeout_});
    result.learning_rate = rate;
    result.clip_factor = clip_factor(result.gradient_norm, config_->optimizer.max_grad_norm);
    result.parameters_hash = step_and_hash(*state_.optimizer, layout, state_.parameters.values(), window.gradient(),
                                           rate, result.clip_factor);
    result.stepped = true;
  } else {
    ++state_.skipped_non_finite;
  }
}

void Trainer::gather_shares(UpdateResult& result, const RankShare& mine) {
  result.ranks.resize(static_cast<std::size_t>(comm_->size()));
  comm_->all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(result.ranks)),
                    {"rank shares", result.update, timeout_});
}

}  // namespace samegrad
