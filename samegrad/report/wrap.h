// Text into lines of a given width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/report/display_width.h"

namespace samegrad {

/// `text` in lines of at most `cells` terminal cells (>= 2), broken at blanks, inside a word only where it is longer
/// than a line: after one of . / _ - where there is one, so that names and paths stay readable. Newlines break too. At
/// least one line. Local.
std::vector<std::string> wrap(std::string_view text, std::int64_t cells);

}  // namespace samegrad
