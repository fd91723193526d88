#include "samegrad/checkpoint/strict_json.h"

#include <unordered_set>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad {
namespace {

constexpr int kDeepestNesting = 100;

}  // namespace

Json parse_strict_json(std::string_view bytes, const std::string& file) {
  const auto refuse = [&](const std::string& what) { throw CheckError("checkpoint", file + ": " + what); };
  // The parser takes a NUL for the end of its input: what follows would go unread.
  if (bytes.find('\0') != std::string_view::npos) {
    refuse("not JSON: it holds a NUL byte");
  }
  std::vector<std::unordered_set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepestNesting) {
      refuse("nested deeper than " + std::to_string(kDeepestNesting));
    }
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      refuse("key '" + printable(value.get<std::string>()) + "' twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(bytes.begin(), bytes.end(), check);
  } catch (const Json::exception& error) {
    throw CheckError("checkpoint", file + ": not JSON: " + printable(error.what()));
  }
}

}  // namespace samegrad
