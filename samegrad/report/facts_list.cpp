#include "samegrad/report/facts_list.h"

#include <algorithm>

#include "samegrad/report/wrap.h"

namespace samegrad {

std::string facts_list(std::span<const std::pair<std::string, std::string>> facts, const TextStyle& style) {
  constexpr std::int64_t kIndent = 2;
  constexpr std::int64_t kGap = 2;
  std::int64_t names = 0;
  for (const auto& fact : facts) names = std::max(names, display_width(fact.first));
  const std::int64_t margin = kIndent + names + kGap;
  std::string out;
  for (const auto& [name, value] : facts) {
    std::string lead = std::string(kIndent, ' ') + name;
    lead.append(static_cast<std::size_t>(margin - kIndent - display_width(name)), ' ');
    for (const std::string& line : wrap(value, std::max<std::int64_t>(style.cells - margin, 20))) {
      out += lead + line + "\n";
      lead.assign(static_cast<std::size_t>(margin), ' ');
    }
  }
  return out;
}

}  // namespace samegrad
