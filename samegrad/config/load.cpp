#include "samegrad/config/load.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/trainer_names.h"
#include "samegrad/config/yaml_source.h"

namespace samegrad {
namespace {

bool gives(std::span<const Assignment> assignments, std::string_view key) {
  return std::any_of(assignments.begin(), assignments.end(),
                     [&](const Assignment& a) { return a.field != nullptr && a.field->key == key; });
}

/// Applies what one source says. `updates` and `epochs` answer the same question: a source that gives one of them
/// takes back what an earlier source, or a default, said of the other.
void apply_source(RunConfig& config, std::span<const Assignment> assignments) {
  for (const Assignment& assignment : assignments) {
    if (assignment.field == nullptr) {
      const TrainerName& name = *find_trainer_name(assignment.name);
      if (name.option.empty()) config.notes.push_back(name.name + ": " + name.meaning);
      continue;
    }
    set_field_from_text(config, *assignment.field, assignment.text, assignment.where);
  }
  const bool updates = gives(assignments, "plan.updates");
  const bool epochs = gives(assignments, "plan.epochs");
  if (updates && !epochs && config.plan.updates > 0) {
    config.plan.epochs = 0;
  }
  if (epochs && !updates && config.plan.epochs > 0) {
    config.plan.updates = 0;
  }
}

/// The Trainer ignores the warm-up under its `constant`, and this schedule has one.
void refuse_ignored_warmup(const RunConfig& config, std::span<const Assignment> assignments) {
  const Assignment* kind = nullptr;
  for (const Assignment& assignment : assignments) {
    if (assignment.field != nullptr && assignment.field->key == "schedule.kind") kind = &assignment;
  }
  if (kind == nullptr || kind->name != "lr_scheduler_type" || kind->given != "constant" ||
      config.schedule.warmup_updates == 0) {
    return;
  }
  throw InputError("config", kind->where + ": lr_scheduler_type: 'constant' with warmup_steps: " +
                                 std::to_string(config.schedule.warmup_updates) +
                                 ", which the Trainer would ignore; write constant_with_warmup, or warmup_steps: 0");
}

std::vector<Assignment> parse_overrides(std::span<const std::string> overrides) {
  std::vector<Assignment> given;
  std::transform(overrides.begin(), overrides.end(), std::back_inserter(given), parse_override);
  return given;
}

}  // namespace

RunConfig lesson_config() {
  RunConfig config;
  config.plan.stop_at = 50;
  return config;
}

RunConfig load_config(const std::filesystem::path& path, std::span<const std::string> overrides) {
  RunConfig config = path.empty() ? lesson_config() : RunConfig();
  std::vector<Assignment> all = path.empty() ? std::vector<Assignment>() : read_yaml_assignments(path);
  apply_source(config, all);
  const std::vector<Assignment> given = parse_overrides(overrides);
  apply_source(config, given);
  all.insert(all.end(), given.begin(), given.end());
  refuse_ignored_warmup(config, all);
  validate_config(config);
  return config;
}

RunConfig override_config(RunConfig config, std::span<const std::string> overrides) {
  const std::vector<Assignment> given = parse_overrides(overrides);
  apply_source(config, given);
  refuse_ignored_warmup(config, given);
  validate_config(config);
  return config;
}

std::map<std::string, std::string> option_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides) {
  std::vector<Assignment> all = path.empty() ? std::vector<Assignment>() : read_yaml_assignments(path);
  const std::vector<Assignment> given = parse_overrides(overrides);
  all.insert(all.end(), given.begin(), given.end());
  std::map<std::string, std::string> values;
  for (const Assignment& assignment : all) {
    const TrainerName* const name = find_trainer_name(assignment.name);
    if (name != nullptr && !name->option.empty()) values[name->option] = assignment.text;
  }
  return values;
}

}  // namespace samegrad
