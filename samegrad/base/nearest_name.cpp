#include "samegrad/base/nearest_name.h"

#include <algorithm>
#include <vector>

namespace samegrad {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before_last(columns);
  std::vector<std::size_t> last(columns);
  std::vector<std::size_t> row(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(given, name);
    if (nearest == nullptr || distance < least) {
      nearest = &name;
      least = distance;
    }
  }
  if (nearest == nullptr) {
    return std::nullopt;
  }
  const std::size_t allowed = std::max<std::size_t>(1, std::max(given.size(), nearest->size()) / 3);
  return least <= allowed ? std::optional<std::string>(*nearest) : std::nullopt;
}

std::string suggestion(std::string_view given, std::span<const std::string> known) {
  const std::optional<std::string> nearest = nearest_name(given, known);
  return nearest ? ", did you mean '" + *nearest + "'?" : "";
}

}  // namespace samegrad
