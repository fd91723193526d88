// The edge of a program: where errors become a line and an exit code.
#pragma once

#include <exception>
#include <string>

#include "samegrad/base/json.h"

namespace samegrad {

/// The line to show: an Error's own, or "[fault of samegrad] ..." for what should never be thrown. Local.
std::string error_line(const std::exception& error);

/// An Error's own exit code, 1 for any other exception. Local.
int error_exit_code(const std::exception& error);

/// A result as a command prints it, without the last line end. What is not UTF-8, as a file's name may be, is replaced.
/// Local.
std::string result_text(const Json& result);

/// Sends what was printed on its way. Throws RunError where it did not arrive (a full disk, a closed pipe). Local.
void flush_results();

}  // namespace samegrad
