// Text out of a file, made safe for a line on a terminal.
#pragma once

#include <string>
#include <string_view>

#include "samegrad/base/json.h"

namespace samegrad {

/// `text` with everything outside printable ASCII written as JSON escapes, cut after 200 characters: a name in a
/// damaged file must not move the cursor or fill the screen. Local.
std::string printable(std::string_view text);

/// The same for a JSON value, as JSON.
std::string printable_json(const Json& value);

}  // namespace samegrad
