// The options that belong to one subcommand; those of every command are in command_line.cpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "apps/samegrad/command_line.h"

namespace CLI {
class App;
}

namespace samegrad {

/// Throws InputError of stage "usage".
[[noreturn]] void refuse_usage(const std::string& message);

/// The number that `text` is. Throws InputError of stage "usage", "OPTION: 'TEXT'; allowed: ALLOWED". Local.
template <typename Number>
Number parse_number(const std::string& option, const std::string& text, Number least, Number most,
                    const std::string& allowed) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole_text = error == std::errc{} && end == text.data() + text.size();
  // A NaN is not between the two.
  if (!whole_text || !(value >= least && value <= most)) {
    refuse_usage(option + ": '" + text + "'; allowed: " + allowed);
  }
  return value;
}

/// The whole numbers of a list with commas. Throws as parse_number. Local.
std::vector<std::int64_t> parse_list(const std::string& option, const std::string& text, std::int64_t least,
                                     std::int64_t most, const std::string& example);

/// Adds the options of `command` (by its name), which write into `line`. Local.
void add_own_options(CLI::App& command, CommandLine& line);

/// What no single option can check: options that exclude or need each other. Takes the shorthands into the overrides.
/// Throws InputError. Local.
void check_own_options(const CLI::App& command, CommandLine& line);

}  // namespace samegrad
