#include "samegrad/report/run_divergence.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

// What may differ between two runs that compute the same.
constexpr std::array<std::string_view, 5> kNotCompared{"run_id", "kind", "seconds", "tokens_per_second", "ranks"};

// Made at every leg's end, so one of the two runs may have one more than the other.
constexpr std::string_view kValidation = "validation";

std::vector<std::string> differing_fields(const Json& reference, const Json& other) {
  std::vector<std::string> fields;
  const auto compare = [&](const std::string& name, const Json& value) {
    if (std::ranges::find(kNotCompared, name) != kNotCompared.end()) return;
    const bool here = other.contains(name);
    if (!here && name == kValidation) return;
    if (!here || other[name] != value) fields.push_back(name);
  };
  for (const auto& [name, value] : reference.items()) compare(name, value);
  for (const auto& [name, value] : other.items()) {
    if (!reference.contains(name) && name != kValidation) fields.push_back(name);
  }
  return fields;
}

}  // namespace

UpdateLines lines_of_run(std::span<const Json> lines, const std::string& run_id) {
  UpdateLines found;
  for (const Json& line : lines) {
    const Json update = line.value("update", Json());
    if (line.value("run_id", Json()) == run_id && update.is_number_integer()) found[whole_number(update)] = line;
  }
  return found;
}

std::optional<RunDivergence> first_divergence(const UpdateLines& reference, const UpdateLines& other,
                                              std::int64_t last_update) {
  for (std::int64_t update = 1; update <= last_update; ++update) {
    const auto expected = reference.find(update);
    const auto found = other.find(update);
    if (expected == reference.end() || found == other.end()) return RunDivergence{update, {}};
    std::vector<std::string> fields = differing_fields(expected->second, found->second);
    if (!fields.empty()) return RunDivergence{update, std::move(fields)};
  }
  return std::nullopt;
}

}  // namespace samegrad
