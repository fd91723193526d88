#include "samegrad/plan/lesson_plan.h"

#include <array>
#include <string>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/plan/python_random.h"

namespace samegrad {

namespace {

constexpr std::int64_t kSeedOffset = 10;

/// random.Random(seed + 10), with Python's integers: the sum may be one that int64 cannot hold.
PythonRandom lesson_random(std::int64_t seed) {
  if (seed < 0) return PythonRandom(seed + kSeedOffset);
  const std::uint64_t sum = static_cast<std::uint64_t>(seed) + kSeedOffset;
  const std::array<std::uint32_t, 2> words{static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(sum >> 32)};
  return PythonRandom(words);
}

class LessonPlan : public UpdatePlan {
 public:
  LessonPlan(const PlanConfig& plan, std::int64_t seed, std::vector<std::int64_t> short_ids,
             std::vector<std::int64_t> long_ids)
      : updates_(plan.updates),
        accumulation_(plan.accumulation),
        batch_(plan.batch_size_per_rank),
        seed_(seed),
        pools_{std::move(short_ids), std::move(long_ids)},
        random_(lesson_random(seed)) {}

  std::int64_t updates() const override { return updates_; }

  PlanWindow window(std::int64_t update) const override {
    SAMEGRAD_CHECK_OP(update, >=, 1);
    SAMEGRAD_CHECK_OP(update, <=, updates_);
    // The generator only runs forward; an earlier window is drawn again from the start.
    if (update < last_.update) {
      random_ = lesson_random(seed_);
      last_ = {};
    }
    while (last_.update < update) draw_next();
    return last_;
  }

  PlanCursor cursor(std::int64_t updates_done) const override {
    SAMEGRAD_CHECK_OP(updates_done, >=, 0);
    SAMEGRAD_CHECK_OP(updates_done, <=, updates_);
    const auto ranks = static_cast<std::int64_t>(pools_.size());
    return {.update = updates_done,
            .epoch = 0,
            .window_in_epoch = updates_done,
            .samples_consumed = updates_done * ranks * accumulation_ * batch_};
  }

  std::string_view rule() const override { return "lesson-two-pools-1"; }

  std::string digest() const override {
    return sha256_hex(Json{
        {"rule", rule()},
        {"seed", seed_},
        {"accumulation", accumulation_},
        {"batch_size_per_rank", batch_},
        {"short_ids", pools_[0]},
        {"long_ids",
         pools_[1]}}.dump());
  }

 private:
  void draw_next() const {
    last_.update += 1;
    last_.atoms.clear();
    for (const std::vector<std::int64_t>& pool : pools_) {
      const auto drawn = random_.sample(static_cast<std::int64_t>(pool.size()), accumulation_ * batch_);
      auto next = drawn.begin();
      for (std::int64_t microbatch = 0; microbatch < accumulation_; ++microbatch) {
        Atom& atom = last_.atoms.emplace_back();
        for (std::int64_t i = 0; i < batch_; ++i) atom.push_back(pool[static_cast<std::size_t>(*next++)]);
      }
    }
  }

  std::int64_t updates_;
  std::int64_t accumulation_;
  std::int64_t batch_;
  std::int64_t seed_;
  std::array<std::vector<std::int64_t>, 2> pools_;  // [virtual rank]
  mutable PythonRandom random_;
  mutable PlanWindow last_;
};

void require_pool(const char* name, const std::vector<std::int64_t>& pool, const PlanConfig& plan) {
  const auto size = static_cast<std::int64_t>(pool.size());
  // Divided rather than multiplied: the product of two configured numbers may not fit.
  if (size / plan.accumulation >= plan.batch_size_per_rank) return;
  throw InputError("plan", std::string("the pool of ") + name + " samples: " + std::to_string(size) +
                               " samples, but a window takes accumulation x batch_size_per_rank = " +
                               std::to_string(plan.accumulation) + " x " + std::to_string(plan.batch_size_per_rank) +
                               " of them without replacement; raise data.train_sequences, or lower "
                               "plan.accumulation or plan.batch_size_per_rank");
}

}  // namespace

std::unique_ptr<UpdatePlan> make_lesson_plan(const PlanConfig& plan, std::int64_t seed,
                                             std::vector<std::int64_t> short_ids, std::vector<std::int64_t> long_ids) {
  SAMEGRAD_CHECK_OP(plan.accumulation, >, 0);
  SAMEGRAD_CHECK_OP(plan.batch_size_per_rank, >, 0);
  if (plan.virtual_ranks != 2) {
    throw InputError("plan", "plan.virtual_ranks: " + std::to_string(plan.virtual_ranks) +
                                 " given, the lesson has 2, one for each pool (short and long samples); set "
                                 "plan.virtual_ranks=2 (the number of processes is --nproc, and is free)");
  }
  if (plan.updates <= 0) {
    throw InputError("plan", "plan.updates: " + std::to_string(plan.updates) +
                                 " given, the lesson draws windows without epochs and needs a number of updates; set "
                                 "plan.updates=100 and plan.epochs=0");
  }
  require_pool("short", short_ids, plan);
  require_pool("long", long_ids, plan);
  std::int64_t samples_in_all = 0;
  if (__builtin_mul_overflow(plan.updates, 2 * plan.accumulation * plan.batch_size_per_rank, &samples_in_all)) {
    throw InputError("plan", "plan.updates: " + std::to_string(plan.updates) +
                                 " given, that is more samples than can be counted; lower it");
  }
  return std::make_unique<LessonPlan>(plan, seed, std::move(short_ids), std::move(long_ids));
}

}  // namespace samegrad
