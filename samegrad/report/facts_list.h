// A list of "what  value" lines, aligned and wrapped.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "samegrad/report/text_style.h"

namespace samegrad {

/// Each line two blanks, the name padded to the longest, the value; long values go on below themselves. Local.
std::string facts_list(std::span<const std::pair<std::string, std::string>> facts, const TextStyle& style);

}  // namespace samegrad
