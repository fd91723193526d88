// Mistakes that only a resume, or another number of processes, brings to light: SAMEGRAD_BROKEN names one. The linker
// puts these functions in the place of the product's (--wrap).
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "samegrad/base/name_owner.h"
#include "samegrad/checkpoint/training_checkpoint.h"
#include "samegrad/plan/update_plan.h"
#include "tests/controls/broken.h"

namespace {

using samegrad::Checkpoint;
using samegrad::NameOwner;
using samegrad::Optimizer;
using samegrad::PlanCursor;
using samegrad::PlanWindow;
using samegrad::RunConfig;
using samegrad::SampleSource;
using samegrad::TrainState;
using samegrad::UpdatePlan;

// A data loader that in a resume goes on from another window than the next one.
class MisplacedPlan : public UpdatePlan {
 public:
  MisplacedPlan(std::unique_ptr<UpdatePlan> plan, bool restarts) : plan_(std::move(plan)), restarts_(restarts) {}

  std::int64_t updates() const override { return plan_->updates(); }
  PlanWindow window(std::int64_t update) const override {
    if (first_ == 0) first_ = update;
    const std::int64_t built = std::min(update + 1, updates());  // one more than was consumed
    PlanWindow window = plan_->window(restarts_ ? update - first_ + 1 : first_ > 1 ? built : update);
    window.update = update;
    return window;
  }
  PlanCursor cursor(std::int64_t updates_done) const override { return plan_->cursor(updates_done); }
  std::string_view rule() const override { return plan_->rule(); }
  std::string digest() const override { return plan_->digest(); }

 private:
  std::unique_ptr<UpdatePlan> plan_;
  bool restarts_;  // without a saved place; else the place saved is that of the window built ahead
  mutable std::int64_t first_ = 0;
};

}  // namespace

void real_restore_training(const Checkpoint& checkpoint, TrainState& state) asm(
    "__real__ZN8samegrad16restore_trainingERKNS_10CheckpointERNS_10TrainStateE");
void wrap_restore_training(const Checkpoint& checkpoint, TrainState& state) asm(
    "__wrap__ZN8samegrad16restore_trainingERKNS_10CheckpointERNS_10TrainStateE");
void wrap_restore_training(const Checkpoint& checkpoint, TrainState& state) {
  real_restore_training(checkpoint, state);
  if (!broken("optimizer-state-not-restored")) return;
  for (Optimizer::StateBlock& block : state.optimizer->state()) std::ranges::fill(block.values.span(), 0.0F);
}

std::unique_ptr<UpdatePlan> real_make_update_plan(const RunConfig& config, const SampleSource& train) asm(
    "__real__ZN8samegrad16make_update_planERKNS_9RunConfigERKNS_12SampleSourceE");
std::unique_ptr<UpdatePlan> wrap_make_update_plan(const RunConfig& config, const SampleSource& train) asm(
    "__wrap__ZN8samegrad16make_update_planERKNS_9RunConfigERKNS_12SampleSourceE");
std::unique_ptr<UpdatePlan> wrap_make_update_plan(const RunConfig& config, const SampleSource& train) {
  std::unique_ptr<UpdatePlan> plan = real_make_update_plan(config, train);
  for (const bool restarts : {false, true}) {
    if (!broken(restarts ? "data-order-restarted" : "place-built-saved")) continue;
    return std::make_unique<MisplacedPlan>(std::move(plan), restarts);
  }
  return plan;
}

bool real_is_left_over(const std::filesystem::path& path, const NameOwner& owner, std::time_t now) asm(
    "__real__ZN8samegrad12is_left_overERKNSt10filesystem7__cxx114pathERKNS_9NameOwnerEl");
bool wrap_is_left_over(const std::filesystem::path& path, const NameOwner& owner, std::time_t now) asm(
    "__wrap__ZN8samegrad12is_left_overERKNSt10filesystem7__cxx114pathERKNS_9NameOwnerEl");
bool wrap_is_left_over(const std::filesystem::path& path, const NameOwner& owner, std::time_t now) {
  return !broken("leftovers-stay") && real_is_left_over(path, owner, now);
}
