#include <algorithm>
#include <array>

#include "apps/samegrad/commands.h"

namespace samegrad {

const Command* find_command(std::string_view name) {
  static constexpr std::array kCommands{Command{"bisect", run_bisect},     Command{"env", run_env_dual},
                                        Command{"evaluate", run_evaluate}, Command{"exercise", run_exercise},
                                        Command{"generate", run_generate}, Command{"reference", run_reference},
                                        Command{"train", run_train},       Command{"verify", run_verify}};
  const auto* const found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace samegrad
