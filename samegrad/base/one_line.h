// Text that somebody else chose, made safe for one line of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

/// `text` with control characters as \x0a: it begins no other line, moves no cursor, and no NUL cuts it. Local.
std::string one_line(std::string_view text);

}  // namespace samegrad
