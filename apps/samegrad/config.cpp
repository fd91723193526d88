#include <iostream>
#include <string>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/json.h"
#include "samegrad/config/explain.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/load.h"
#include "samegrad/config/trainer_names.h"
#include "samegrad/report/table.h"
#include "samegrad/report/wrap.h"

namespace samegrad {
namespace {

/// Lines of names, with commas.
std::string names_with(TrainerEffect effect) {
  std::string names;
  for (const TrainerName& name : trainer_names()) {
    if (name.effect == effect) names += (names.empty() ? "" : ", ") + name.name;
  }
  constexpr std::int64_t kCells = 110;
  std::string text;
  for (const std::string& line : wrap(names, kCells)) text += "  " + line + "\n";
  return text;
}

}  // namespace

int run_config(const CommandLine& command) {
  const RunConfig config = load_config(command.config, command.overrides);
  if (!command.explain.empty()) {
    const Explanation explanation = explain_key(command.explain, config);
    std::cout << (command.json ? result_text(explanation.json) + "\n" : explanation.text);
    return 0;
  }
  if (command.json) {
    std::cout << result_text(config_to_json(config)) << "\n";
    return 0;
  }
  Table table({{"key"}, {"value"}, {"allowed"}, {"meaning"}});
  std::string aliases;
  for (const Field& field : config_fields()) {
    const Json value = field_to_json(config, field);
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    table.add_row({field.key, shown.empty() ? "-" : shown, allowed_values(field), field.meaning});
    for (const std::string& alias : field.aliases) {
      aliases += "  " + alias + " = " + field.key + "\n";
    }
  }
  for (const TrainerName& name : trainer_names()) {
    if (name.effect == TrainerEffect::kOption) aliases += "  " + name.name + " = " + name.option + "\n";
    if (name.effect == TrainerEffect::kRule) aliases += "  " + name.name + ": " + name.meaning + "\n";
  }
  aliases += "Without effect here:\n" + names_with(TrainerEffect::kNoEffect) +
             "Taken where their value is off, else refused with what to write:\n" + names_with(TrainerEffect::kOff) +
             "`samegrad config --explain KEY` says more of each.\n";
  std::cout << table.render(/*most_cells=*/160) << "\nOther names, as in the Hugging Face Trainer:\n" << aliases;
  return 0;
}

}  // namespace samegrad
