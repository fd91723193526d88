// The options that belong to one subcommand; those of every command are in command_line.cpp.
#pragma once

#include <string>

#include "apps/samegrad/command_line.h"

namespace CLI {
class App;
}

namespace samegrad {

/// Throws InputError of stage "usage".
[[noreturn]] void refuse_usage(const std::string& message);

/// Adds the options of `command` (by its name), which write into `line`. Local.
void add_own_options(CLI::App& command, CommandLine& line);

/// What no single option can check: options that exclude or need each other. Takes the shorthands into the overrides.
/// Throws InputError. Local.
void check_own_options(const CLI::App& command, CommandLine& line);

}  // namespace samegrad
