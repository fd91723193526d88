#include <array>
#include <charconv>
#include <string>
#include <variant>
#include <vector>

#include "samegrad/config/fields.h"

namespace samegrad {
namespace {

std::string number_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
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
    return "a whole number, " + std::to_string(limits.least) + " to " + std::to_string(limits.most);
  }
  std::string operator()(const NumberLimits& limits) const {
    return (limits.open_below ? "a number, more than " : "a number, at least ") + number_text(limits.least) +
           (limits.open_above ? " and less than " : " and at most ") + number_text(limits.most);
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
