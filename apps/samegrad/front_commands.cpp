#include <algorithm>
#include <array>

#include "apps/samegrad/commands.h"

namespace samegrad {

const Command* find_command(std::string_view name) {
  static constexpr std::array kCommands{Command{"acquire", run_acquire},
                                        Command{"check-loss", run_check_loss},
                                        Command{"checkpoints", run_checkpoints},
                                        Command{"clean", run_clean},
                                        Command{"config", run_config},
                                        Command{"demo", run_demo},
                                        Command{"diagnose", run_diagnose},
                                        Command{"env", run_env},
                                        Command{"launch", run_launch},
                                        Command{"plot", run_plot},
                                        Command{"prepare", run_prepare},
                                        Command{"simulate", run_simulate},
                                        Command{"status", run_status},
                                        Command{"stop", run_stop},
                                        Command{"verify-resume", run_verify_resume},
                                        Command{"version", run_version}};
  const auto* const found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace samegrad
