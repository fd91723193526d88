// The name under which a process is listed.
#pragma once

#include <string_view>

namespace samegrad {

/// Puts `name` where this process's arguments were: `ps`, `pgrep -f` and `pkill -f` see it from then on. The caller has
/// no more use for the arguments of main(). Does nothing where they are not where the system says. Local.
void rename_command_line(std::string_view name);

}  // namespace samegrad
