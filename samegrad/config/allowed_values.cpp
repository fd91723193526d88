#include <string>
#include <variant>

#include "samegrad/config/fields.h"

namespace samegrad {
namespace {

// A limit from here on is for arithmetic's sake, and no news to a person.
constexpr std::int64_t kMany = 1'000'000'000;
constexpr double kAnyFactor = 1e30;

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

struct AllowedText {
  const Field& field;

  std::string operator()(const NoLimits& /*limits*/) const {
    RunConfig config;
    if (std::holds_alternative<std::vector<double>*>(field.target(config))) {
      return "a list of finite numbers, at least 0, as [1, 2.5]";
    }
    return std::holds_alternative<bool*>(field.target(config)) ? "true or false" : "text";
  }
  std::string operator()(const IntegerLimits& limits) const {
    const std::string least = std::to_string(limits.least);
    return "a whole number, " +
           (limits.most == kMany ? "at least " + least : least + " to " + std::to_string(limits.most));
  }
  std::string operator()(const NumberLimits& limits) const {
    const std::string least = (limits.open_below ? "more than " : "at least ") + number_text(limits.least);
    if (limits.most >= kAnyFactor) {
      return "a finite number, " + least;
    }
    return "a number, " + least + (limits.open_above ? " and less than " : " and at most ") + number_text(limits.most);
  }
  std::string operator()(const ChoiceLimits& limits) const {
    std::string text;
    for (const std::string& value : limits.values) {
      text += (text.empty() ? (limits.values.size() == 1 ? "only " : "one of: ") : ", ") + value;
    }
    return text;
  }
};

}  // namespace

std::string allowed_values(const Field& field) { return std::visit(AllowedText{field}, field.limits); }

}  // namespace samegrad
