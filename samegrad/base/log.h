// What samegrad tells a person while it works: whole lines on standard error. Results go to standard output, by the
// subcommand that has them.
#pragma once

#include <string_view>

namespace samegrad {

/// Quiet: log_info shows nothing. Warnings and errors stay. Local.
void set_log_quiet(bool quiet);

/// One line of news. Lines of several processes do not mix: a line is one write. Local.
void log_info(std::string_view line);

/// "warning: LINE". Local.
void log_warn(std::string_view line);

/// An error's line, as it is (`Error::what()`). Local.
void log_error(std::string_view line);

/// A line that the next output overwrites, for progress; shows nothing when quiet. Only where log_is_terminal(). Local.
void log_progress(std::string_view line);

/// Whether standard error is a terminal. Local.
bool log_is_terminal();

/// Whether colours may be used on standard error: a terminal, and NO_COLOR unset or empty (https://no-color.org).
/// Local.
bool log_uses_colour();

}  // namespace samegrad
