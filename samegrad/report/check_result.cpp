#include "samegrad/report/check_result.h"

#include <algorithm>
#include <string_view>

#include "samegrad/report/table.h"

namespace samegrad {
namespace {

constexpr std::string_view kPass = "PASS";
constexpr std::string_view kFail = "FAIL";

// The verdict is a line's first word; colours are put on after the table is aligned, where they take no cells.
std::string with_tones(const std::string& table, const TextStyle& style) {
  std::string out;
  std::size_t begin = 0;
  while (begin < table.size()) {
    const std::size_t end = table.find('\n', begin) + 1;
    std::string_view line(table.data() + begin, end - begin);
    if (line.starts_with(kPass) || line.starts_with(kFail)) {
      out += toned(line.substr(0, kPass.size()), line.starts_with(kPass) ? Tone::kGood : Tone::kBad, style);
      line.remove_prefix(kPass.size());
    }
    out += line;
    begin = end;
  }
  return out;
}

}  // namespace

bool all_hold(std::span<const CheckResult> checks) {
  return !checks.empty() && std::ranges::all_of(checks, &CheckResult::holds);
}

std::string checks_text(std::span<const CheckResult> checks, const TextStyle& style) {
  Table table({{""}, {"check"}, {"must be"}, {"measured"}});
  for (const CheckResult& check : checks) {
    table.add_row({std::string(check.holds ? kPass : kFail), check.name, check.expected, check.measured});
  }
  return with_tones(table.render(style.cells), style);
}

std::string checks_verdict(std::span<const CheckResult> checks, const TextStyle& style) {
  const std::string all = std::to_string(checks.size());
  if (all_hold(checks)) return toned("All " + all + " checks hold.", Tone::kGood, style);
  const auto failed = std::ranges::count(checks, false, &CheckResult::holds);
  return toned(
      std::to_string(failed) + " of " + all + (failed == 1 ? " checks does not hold." : " checks do not hold."),
      Tone::kBad, style);
}

Json checks_to_json(std::span<const CheckResult> checks) {
  Json json = Json::array();
  for (const CheckResult& check : checks) {
    json.push_back(
        {{"name", check.name}, {"expected", check.expected}, {"measured", check.measured}, {"holds", check.holds}});
  }
  return json;
}

}  // namespace samegrad
