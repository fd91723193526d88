// The options of `launch` and `train` about starting and watching processes, named as torchrun names them.
#pragma once

#include <optional>
#include <string>

#include "apps/samegrad/command_line.h"

namespace CLI {
class App;
}

namespace samegrad {

/// --max-restarts, --min-nproc, --grace, --failure-json, --log-dir, --tee, --redirects. Local.
void add_supervision_options(CLI::App& command, CommandLine& line);

/// Those, and what only `launch` takes: --nproc-per-node, --store, --no-prefix, --standalone, --master-addr,
/// --master-port, --monitor-interval, --rdzv-id. PET_<NAME> in the environment is the default of each that torchrun
/// has, too. Local.
void add_launch_options(CLI::App& command, CommandLine& line);

/// Refuses options that need each other. Throws InputError. Local.
void check_launch_options(const CommandLine& line);

/// Why `launch` does not take an option of torchrun, and what to do; nothing where torchrun has none of that name.
/// Local.
std::optional<std::string> why_not_of_torchrun(const std::string& option);

}  // namespace samegrad
