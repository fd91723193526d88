#include "samegrad/plan/update_plan.h"

#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/plan/balanced_plan.h"
#include "samegrad/plan/epoch_plan.h"
#include "samegrad/plan/lesson_plan.h"

namespace samegrad {

namespace {

std::unique_ptr<UpdatePlan> lesson_plan_of(const RunConfig& config, const SampleSource& train) {
  std::vector<std::int64_t> short_ids;
  std::vector<std::int64_t> long_ids;
  for (std::int64_t id = 0; id < train.size(); ++id) {
    (train.input_tokens(id) <= config.data.split ? short_ids : long_ids).push_back(id);
  }
  return make_lesson_plan(config.plan, config.seed, std::move(short_ids), std::move(long_ids));
}

std::unique_ptr<UpdatePlan> drawn_plan(const RunConfig& config, const SampleSource& train) {
  if (config.data.task == "lesson") return lesson_plan_of(config, train);
  if (config.data.task == "text") return make_epoch_plan(config.plan, config.seed, train.size());
  throw InputError("plan", "data.task: '" + config.data.task + "' given, allowed are lesson and text; set one of them");
}

}  // namespace

std::unique_ptr<UpdatePlan> make_update_plan(const RunConfig& config, const SampleSource& train) {
  std::unique_ptr<UpdatePlan> drawn = drawn_plan(config, train);
  if (config.plan.balance == "none") return drawn;
  if (config.plan.balance == "lpt") return make_balanced_plan(std::move(drawn), train, sample_cost(config));
  throw InputError("plan",
                   "plan.balance: '" + config.plan.balance + "' given, allowed are none and lpt; set one of them");
}

Json plan_to_json(const UpdatePlan& plan, const RunConfig& config, std::int64_t most_ids) {
  const std::int64_t updates = plan.updates();
  Json result{{"format", 1},
              {"rule", plan.rule()},
              {"digest", plan.digest()},
              {"updates", updates},
              {"virtual_ranks", config.plan.virtual_ranks},
              {"accumulation", config.plan.accumulation},
              {"batch_size_per_rank", config.plan.batch_size_per_rank},
              {"plan", nullptr}};
  if (plan.cursor(updates).samples_consumed > most_ids) return result;
  Json windows = Json::array();
  for (std::int64_t update = 1; update <= updates; ++update) {
    const PlanWindow window = plan.window(update);
    SAMEGRAD_CHECK_OP(static_cast<std::int64_t>(window.atoms.size()), ==, config.plan.atoms_per_window());
    Json ranks = Json::array();
    auto atom = window.atoms.begin();
    for (std::int64_t rank = 0; rank < config.plan.virtual_ranks; ++rank) {
      Json microbatches = Json::array();
      for (std::int64_t i = 0; i < config.plan.accumulation; ++i) microbatches.push_back(*atom++);
      ranks.push_back(std::move(microbatches));
    }
    windows.push_back(std::move(ranks));
  }
  result["plan"] = std::move(windows);
  return result;
}

}  // namespace samegrad
