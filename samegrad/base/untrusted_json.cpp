#include "samegrad/base/untrusted_json.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace samegrad {
namespace {

constexpr int kDeepestNesting = 100;
constexpr std::size_t kLargestText = std::size_t{32} << 20;
constexpr std::int64_t kMostValues = 1'000'000;
constexpr std::size_t kLongestReason = 200;

/// What a text holds must neither fill the screen nor move its cursor.
std::string short_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() <= kLongestReason ? text : text.substr(0, kLongestReason) + "...";
}

[[noreturn]] void refuse(const std::string& reason) { throw JsonRefused(short_line(reason)); }

/// Watches the values of one text as they are read.
class Watch {
 public:
  explicit Watch(std::string_view left_out) : left_out_(left_out) {}

  /// False: the value that follows is not kept.
  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kDeepestNesting) refuse("nested deeper than " + std::to_string(kDeepestNesting));
    if ((opens || event == Event::value) && ++values_ > kMostValues) {
      refuse("more than " + std::to_string(kMostValues) + " values");
    }
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end) names_.pop_back();
    if (event != Event::key) return true;
    const auto& name = value.get_ref<const std::string&>();
    if (!names_.back().insert(name).second) refuse("key '" + name.substr(0, 80) + "' twice in one object");
    return left_out_.empty() || depth != 1 || name != left_out_;
  }

 private:
  std::string_view left_out_;
  std::int64_t values_ = 0;
  std::vector<std::unordered_set<std::string>> names_;  ///< of the objects that are open
};

}  // namespace

Json parse_untrusted_json(std::string_view text, std::string_view left_out) {
  if (left_out.empty() && text.size() > kLargestText) {
    refuse(std::to_string(text.size()) + " bytes; JSON has at most " + std::to_string(kLargestText));
  }
  if (text.find('\0') != std::string_view::npos) refuse("it holds a NUL byte");
  Watch watch(left_out);
  try {
    return Json::parse(text.begin(), text.end(), [&](int depth, Json::parse_event_t event, const Json& value) {
      return watch(depth, event, value);
    });
  } catch (const Json::parse_error& error) {  // it quotes the text, at any length
    refuse(std::string("not JSON: ") + error.what());
  } catch (const Json::out_of_range& error) {  // a number above every double
    refuse(std::string("not JSON: ") + error.what());
  }
}

std::int64_t whole_number(const Json& value, std::int64_t least, std::int64_t most) {
  const bool wraps = value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>());
  if (!value.is_number_integer() || wraps || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    const std::string shown = value.is_number() ? value.dump() : std::string(value.type_name());
    refuse(shown + " where a whole number of " + std::to_string(least) + ".." + std::to_string(most) + " is needed");
  }
  return value.get<std::int64_t>();
}

}  // namespace samegrad
