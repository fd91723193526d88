#include "samegrad/config/trainer_rules.h"

#include <cmath>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/config/trainer_names.h"

namespace samegrad {
namespace {

/// The newest of that name; nullptr where there is none.
const Assignment* newest(std::span<const Assignment> given, std::string_view name) {
  const Assignment* found = nullptr;
  for (const Assignment& assignment : given) {
    if (assignment.origin.name == name) found = &assignment;
  }
  return found;
}

[[noreturn]] void refuse(const Assignment& given, const std::string& message) {
  throw InputError("config", place_of(given.origin) + given.origin.name + ": " + given.origin.given + message);
}

void apply_warmup_ratio(std::span<const Assignment> given, RunConfig& config, Origins& origins) {
  const Assignment* const ratio = newest(given, "warmup_ratio");
  if (ratio == nullptr || number_in(ratio->text) == 0) return;
  if (config.schedule.warmup_updates > 0) {
    refuse(*ratio, " with " + origins.said("schedule.warmup_updates", std::to_string(config.schedule.warmup_updates)) +
                       ", which the Trainer would take instead; leave one of them out");
  }
  if (config.plan.updates == 0) {
    refuse(*ratio, " of a run whose number of updates is not given; write warmup_steps: N, or max_steps: N");
  }
  config.schedule.warmup_updates =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(config.plan.updates) * number_in(ratio->text)));
  origins.set("schedule.warmup_updates", ratio->origin);
}

/// The Trainer ignores the warm-up under its `constant`, and this schedule has one.
void refuse_ignored_warmup(std::span<const Assignment> given, const RunConfig& config, const Origins& origins) {
  const Origin* const kind = origins.find("schedule.kind");
  const Assignment* const type = newest(given, "lr_scheduler_type");
  if (type == nullptr || kind == nullptr || kind->name != "lr_scheduler_type" || type->origin.given != "constant" ||
      config.schedule.warmup_updates == 0) {
    return;
  }
  const std::string warmup = origins.name("schedule.warmup_updates");
  refuse(*type, " with " + origins.said("schedule.warmup_updates", std::to_string(config.schedule.warmup_updates)) +
                    ", which the Trainer would ignore; write constant_with_warmup, or " + warmup + ": 0");
}

struct Strategy {
  const char* name;
  const char* field;
  const char* steps;
  std::int64_t every;
};

void check_strategies(std::span<const Assignment> given, const RunConfig& config, const Origins& origins) {
  for (const Strategy& strategy :
       {Strategy{"save_strategy", "checkpoint.every", "save_steps", config.checkpoint.every},
        {"eval_strategy", "evaluation.every", "eval_steps", config.evaluation.every},
        {"evaluation_strategy", "evaluation.every", "eval_steps", config.evaluation.every}}) {
    const Assignment* const said = newest(given, strategy.name);
    if (said == nullptr) continue;
    if (said->text == "no" && strategy.every > 0) {
      refuse(*said, " with " + origins.said(strategy.field, std::to_string(strategy.every)) +
                        ", which the Trainer would ignore; leave one of them out");
    }
    if (said->text == "steps" && strategy.every == 0) {
      refuse(*said, std::string(" without ") + strategy.steps + "; write " + strategy.steps + ": N, in updates");
    }
  }
}

}  // namespace

void apply_trainer_rules(std::span<const Assignment> given, RunConfig& config, Origins& origins) {
  apply_warmup_ratio(given, config, origins);
  refuse_ignored_warmup(given, config, origins);
  check_strategies(given, config, origins);
}

}  // namespace samegrad
