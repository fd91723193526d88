#include "samegrad/config/load.h"

#include <algorithm>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/origins.h"
#include "samegrad/config/refusals.h"
#include "samegrad/config/trainer_names.h"
#include "samegrad/config/trainer_rules.h"
#include "samegrad/config/yaml_source.h"

namespace samegrad {
namespace {

bool gives(std::span<const Assignment> assignments, std::string_view key) {
  return std::any_of(assignments.begin(), assignments.end(),
                     [&](const Assignment& a) { return a.field != nullptr && a.field->key == key; });
}

/// A config while it is filled.
struct Filling {
  RunConfig config;
  Origins origins = {};
  std::vector<Assignment> given = {};
};

/// Applies what one source says. `updates` and `epochs` answer the same question: a source that gives one of them
/// takes back what an earlier source, or a default, said of the other.
void apply_source(Filling& filling, std::span<const Assignment> assignments) {
  RunConfig& config = filling.config;
  Refusals refusals;
  for (const Assignment& assignment : assignments) {
    filling.given.push_back(assignment);
    if (assignment.field == nullptr) {
      const TrainerName& name = *find_trainer_name(assignment.origin.name);
      if (name.effect == TrainerEffect::kNoEffect) {
        config.notes.push_back(name.name + ": no effect here: " + name.meaning);
      }
      continue;
    }
    refusals.collect([&] { set_field_from_text(config, *assignment.field, assignment.text, assignment.origin); });
    filling.origins.set(assignment.field->key, assignment.origin);
  }
  refusals.throw_if_any();
  const bool updates = gives(assignments, "plan.updates");
  const bool epochs = gives(assignments, "plan.epochs");
  if (updates && !epochs && config.plan.updates > 0) {
    config.plan.epochs = 0;
  }
  if (epochs && !updates && config.plan.epochs > 0) {
    config.plan.updates = 0;
  }
}

RunConfig finished(Filling filling) {
  apply_trainer_rules(filling.given, filling.config, filling.origins);
  validate_config(filling.config, filling.origins);
  return std::move(filling.config);
}

std::vector<Assignment> parse_overrides(std::span<const std::string> overrides) {
  std::vector<Assignment> given;
  Refusals refusals;
  for (const std::string& text : overrides) refusals.collect([&] { given.push_back(parse_override(text)); });
  refusals.throw_if_any();
  return given;
}

}  // namespace

RunConfig lesson_config() {
  RunConfig config;
  config.plan.stop_at = 50;
  return config;
}

RunConfig load_config(const std::filesystem::path& path, std::span<const std::string> overrides) {
  Filling filling{.config = path.empty() ? lesson_config() : RunConfig()};
  if (path.empty()) {
    const std::string stop = std::to_string(filling.config.plan.stop_at);
    filling.origins.set("plan.stop_at", {.name = "plan.stop_at", .given = stop, .where = "the lesson"});
  } else {
    apply_source(filling, read_yaml_assignments(path));
  }
  apply_source(filling, parse_overrides(overrides));
  // The lesson's imbalance is its subject; text has no reason to wait for its fullest rank.
  if (filling.config.data.task == "text" && filling.origins.find("plan.balance") == nullptr) {
    filling.config.plan.balance = "lpt";
  }
  return finished(std::move(filling));
}

RunConfig override_config(RunConfig config, std::span<const std::string> overrides) {
  Filling filling{.config = std::move(config)};
  apply_source(filling, parse_overrides(overrides));
  return finished(std::move(filling));
}

std::map<std::string, OptionValue> option_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides) {
  std::vector<Assignment> all = path.empty() ? std::vector<Assignment>() : read_yaml_assignments(path);
  const std::vector<Assignment> given = parse_overrides(overrides);
  all.insert(all.end(), given.begin(), given.end());
  std::map<std::string, OptionValue> values;
  for (const Assignment& assignment : all) {
    const TrainerName* const name = find_trainer_name(assignment.origin.name);
    if (name != nullptr && name->effect == TrainerEffect::kOption) {
      values[name->option] = {.value = assignment.text, .said_by = place_of(assignment.origin) + name->name};
    }
  }
  return values;
}

}  // namespace samegrad
