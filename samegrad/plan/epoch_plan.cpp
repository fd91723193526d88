#include "samegrad/plan/epoch_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"

namespace samegrad {

namespace {

constexpr std::int64_t kMostSamples = std::numeric_limits<std::uint32_t>::max();

class EpochPlan : public UpdatePlan {
 public:
  EpochPlan(const PlanConfig& plan, std::int64_t seed, std::int64_t samples, std::int64_t window_samples,
            std::int64_t updates)
      : updates_(updates),
        atoms_(plan.atoms_per_window()),
        virtual_ranks_(plan.virtual_ranks),
        batch_(plan.batch_size_per_rank),
        seed_(seed),
        samples_(samples),
        window_samples_(window_samples),
        windows_per_epoch_((samples - 1) / window_samples + 1) {}

  std::int64_t updates() const override { return updates_; }

  PlanWindow window(std::int64_t update) const override {
    SAMEGRAD_CHECK_OP(update, >=, 1);
    SAMEGRAD_CHECK_OP(update, <=, updates_);
    const PlanCursor before = cursor(update - 1);
    load_order(before.epoch);
    PlanWindow window{.update = update, .epoch = before.epoch, .atoms = {}};
    window.atoms.resize(static_cast<std::size_t>(atoms_));
    std::int64_t next = before.window_in_epoch * window_samples_;
    for (Atom& atom : window.atoms) {
      const std::int64_t end = next + std::min(batch_, samples_ - next);
      atom.assign(order_.begin() + next, order_.begin() + end);
      next = end;
    }
    return window;
  }

  PlanCursor cursor(std::int64_t updates_done) const override {
    SAMEGRAD_CHECK_OP(updates_done, >=, 0);
    SAMEGRAD_CHECK_OP(updates_done, <=, updates_);
    const std::int64_t epoch = updates_done / windows_per_epoch_;
    const std::int64_t window_in_epoch = updates_done % windows_per_epoch_;
    return {.update = updates_done,
            .epoch = epoch,
            .window_in_epoch = window_in_epoch,
            .samples_consumed = epoch * samples_ + window_in_epoch * window_samples_};
  }

  std::string_view rule() const override { return "shuffled-epochs-1"; }

  std::string digest() const override {
    return sha256_hex(Json{
        {"rule", rule()},
        {"seed", seed_},
        {"virtual_ranks", virtual_ranks_},
        {"accumulation", atoms_ / virtual_ranks_},
        {"batch_size_per_rank", batch_},
        {"samples",
         samples_}}.dump());
  }

 private:
  void load_order(std::int64_t epoch) const {
    if (epoch == order_epoch_) return;
    order_.resize(static_cast<std::size_t>(samples_));
    std::iota(order_.begin(), order_.end(), 0U);
    epoch_random(seed_, epoch).shuffle(std::span<std::uint32_t>(order_));
    order_epoch_ = epoch;
  }

  std::int64_t updates_;
  std::int64_t atoms_;
  std::int64_t virtual_ranks_;
  std::int64_t batch_;
  std::int64_t seed_;
  std::int64_t samples_;
  std::int64_t window_samples_;
  std::int64_t windows_per_epoch_;
  mutable std::int64_t order_epoch_ = -1;
  mutable std::vector<std::uint32_t> order_;
};

}  // namespace

PythonRandom epoch_random(std::int64_t seed, std::int64_t epoch) {
  const auto low = static_cast<std::uint64_t>(seed);
  const auto high = static_cast<std::uint64_t>(epoch) + 1;
  const std::array<std::uint32_t, 4> words{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                                           static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  return PythonRandom(words);
}

std::unique_ptr<UpdatePlan> make_epoch_plan(const PlanConfig& plan, std::int64_t seed, std::int64_t samples) {
  SAMEGRAD_CHECK_OP(plan.virtual_ranks, >, 0);
  SAMEGRAD_CHECK_OP(plan.accumulation, >, 0);
  SAMEGRAD_CHECK_OP(plan.batch_size_per_rank, >, 0);
  if (samples == 0) {
    throw InputError("plan", "training samples: 0, at least 1 is needed; check data.train and what was skipped in it");
  }
  if (samples > kMostSamples) {
    throw InputError("plan", "training samples: " + std::to_string(samples) + ", at most " +
                                 std::to_string(kMostSamples) + " are supported; split the file");
  }
  std::int64_t window_samples = 0;
  if (__builtin_mul_overflow(plan.atoms_per_window(), plan.batch_size_per_rank, &window_samples)) {
    window_samples = std::numeric_limits<std::int64_t>::max();
  }
  // A window never takes more than an epoch, so a configured product that does not fit is cut, not refused.
  window_samples = std::min(window_samples, samples);
  std::int64_t updates = plan.updates;
  std::int64_t samples_in_all = 0;
  if ((updates == 0 && __builtin_mul_overflow(plan.epochs, (samples - 1) / window_samples + 1, &updates)) ||
      __builtin_mul_overflow(updates, window_samples, &samples_in_all)) {
    throw InputError("plan", "plan.updates and plan.epochs: " + std::to_string(plan.updates) + " and " +
                                 std::to_string(plan.epochs) +
                                 " given, that is more samples than can be counted; lower them");
  }
  if (updates <= 0) {
    throw InputError("plan", "plan.updates and plan.epochs: " + std::to_string(plan.updates) + " and " +
                                 std::to_string(plan.epochs) + " given, exactly one of them must be 1 or more; set it");
  }
  return std::make_unique<EpochPlan>(plan, seed, samples, window_samples, updates);
}

}  // namespace samegrad
