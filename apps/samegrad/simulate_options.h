// The options of `simulate`.
#pragma once

#include "apps/samegrad/command_line.h"

namespace CLI {
class App;
}

namespace samegrad {

/// Which write into `line.simulate`. Local.
void add_simulate_options(CLI::App& command, CommandLine& line);

/// Refuses options that exclude each other. Throws InputError. Local.
void check_simulate_options(const CLI::App& command, const CommandLine& line);

}  // namespace samegrad
