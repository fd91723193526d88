#include "samegrad/config/load.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "samegrad/config/field_value.h"
#include "samegrad/config/yaml_source.h"

namespace samegrad {
namespace {

bool gives(std::span<const Assignment> assignments, std::string_view key) {
  return std::any_of(assignments.begin(), assignments.end(), [&](const Assignment& a) { return a.field->key == key; });
}

/// Applies what one source says. `updates` and `epochs` answer the same question: a source that gives one of them
/// takes back what an earlier source, or a default, said of the other.
void apply_source(RunConfig& config, std::span<const Assignment> assignments) {
  for (const Assignment& assignment : assignments) {
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

}  // namespace

RunConfig lesson_config() {
  RunConfig config;
  config.plan.stop_at = 50;
  return config;
}

RunConfig load_config(const std::filesystem::path& path, std::span<const std::string> overrides) {
  RunConfig config;
  if (path.empty()) {
    config = lesson_config();
  } else {
    apply_source(config, read_yaml_assignments(path));
  }
  return override_config(std::move(config), overrides);
}

RunConfig override_config(RunConfig config, std::span<const std::string> overrides) {
  std::vector<Assignment> given;
  std::transform(overrides.begin(), overrides.end(), std::back_inserter(given), parse_override);
  apply_source(config, given);
  validate_config(config);
  return config;
}

}  // namespace samegrad
