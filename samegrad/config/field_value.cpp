#include "samegrad/config/field_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const Field& field, const Origin& origin, std::string_view shown, std::string_view reason) {
  const bool alias =
      std::ranges::find(field.aliases, origin.name) != field.aliases.end() && origin.name != field.name();
  throw InputError("config", place_of(origin) + origin.name + ": " + std::string(shown) + std::string(reason) +
                                 "; allowed: " + allowed_values(field) +
                                 (alias ? " (" + origin.name + " is " + field.key + ")" : ""));
}

template <typename Number>
bool parse_whole(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// "1, 2.5" or "[1, 2.5]"; nothing, or "[]", is the empty list.
bool parse_list(std::string_view text, std::vector<double>& values) {
  const auto trim = [](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    return part.substr(0, part.find_last_not_of(' ') + 1);
  };
  text = trim(text);
  if (text.starts_with('[') && text.ends_with(']')) {
    text = trim(text.substr(1, text.size() - 2));
  }
  values.clear();
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (!parse_whole(trim(text.substr(0, comma)), values.emplace_back())) {
      return false;
    }
    if (comma == std::string_view::npos) {
      break;
    }
    text = text.substr(comma + 1);
    if (trim(text).empty()) {
      return false;
    }
  }
  return true;
}

/// What a checkpoint's JSON and a file's name can hold.
bool is_plain_utf8(std::string_view text) {
  try {
    return text.find('\0') == std::string_view::npos && !Json(text).dump().empty();
  } catch (const Json::type_error&) {
    return false;
  }
}

bool parse_boolean(std::string_view text, bool& value) {
  value = text == "true" || text == "True" || text == "TRUE";
  return value || text == "false" || text == "False" || text == "FALSE";
}

/// Why a value is outside the limits: empty when it is inside.
struct LimitCheck {
  const FieldLimits& limits;

  std::string operator()(const std::int64_t* value) const {
    const auto* const range = std::get_if<IntegerLimits>(&limits);
    return range == nullptr || (*value >= range->least && *value <= range->most) ? "" : " is out of range";
  }
  std::string operator()(const double* value) const {
    if (!std::isfinite(*value)) {
      return " is not finite";
    }
    const auto* const range = std::get_if<NumberLimits>(&limits);
    const bool inside =
        range == nullptr || ((*value > range->least || (*value == range->least && !range->open_below)) &&
                             (*value < range->most || (*value == range->most && !range->open_above)));
    return inside ? "" : " is out of range";
  }
  std::string operator()(const bool* /*value*/) const { return ""; }
  std::string operator()(const std::vector<double>* value) const {
    const auto fits = [](double number) { return std::isfinite(number) && number >= 0.0; };
    return std::all_of(value->begin(), value->end(), fits) ? "" : " holds a number that is negative or not finite";
  }
  std::string operator()(const std::string* value) const {
    const auto* const choices = std::get_if<ChoiceLimits>(&limits);
    if (choices == nullptr ||
        std::find(choices->values.begin(), choices->values.end(), *value) != choices->values.end()) {
      return "";
    }
    const auto refused = choices->refused.find(*value);
    return refused == choices->refused.end() ? " is unknown" : " is " + refused->second;
  }
};

std::string shown_text(std::string_view text) {
  constexpr std::size_t kLongestShown = 80;
  return "'" + std::string(text.substr(0, kLongestShown)) + (text.size() > kLongestShown ? "...'" : "'");
}

std::string shown_json(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return std::to_string(value.get<double>());  // JSON has no word for it
  }
  return value.is_string() ? shown_text(value.get_ref<const std::string&>()) : value.dump();
}

/// `shown`: the value in the message; empty: the field's.
void refuse_outside_limits(RunConfig& config, const Field& field, const Origin& origin, const std::string& shown) {
  const std::string reason =
      std::visit([&](const auto* value) { return LimitCheck{field.limits}(value); }, field.target(config));
  if (!reason.empty()) {
    refuse(field, origin, shown.empty() ? shown_json(field_to_json(config, field)) : shown, reason);
  }
}

}  // namespace

void set_field_from_text(RunConfig& config, const Field& field, std::string_view text, const Origin& origin) {
  const auto parse = [&](auto* value) {
    using Value = std::remove_pointer_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (!is_plain_utf8(text)) {
        refuse(field, origin, shown_text(origin.given), " is not UTF-8 without NUL bytes");
      }
      *value = text;
    } else if constexpr (std::is_same_v<Value, bool>) {
      if (!parse_boolean(text, *value)) {
        refuse(field, origin, shown_text(origin.given), " is neither true nor false");
      }
    } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
      if (!parse_list(text, *value)) {
        refuse(field, origin, shown_text(origin.given), " is no list of numbers");
      }
    } else if (!parse_whole(text, *value)) {
      refuse(field, origin, shown_text(origin.given),
             std::is_integral_v<Value> ? " is no whole number of 64 bits" : " is no number");
    }
  };
  std::visit(parse, field.target(config));
  const bool translated = text != origin.given;
  refuse_outside_limits(config, field, origin, translated ? shown_text(origin.given) : "");
}

void set_field_from_json(RunConfig& config, const Field& field, const Json& value, const std::string& where) {
  const Origin origin{.name = field.key, .given = {}, .where = where};
  const auto take = [&](auto* target) {
    using Value = std::remove_pointer_t<decltype(target)>;
    bool fits = false;
    if constexpr (std::is_same_v<Value, std::string>) {
      fits = value.is_string();
    } else if constexpr (std::is_same_v<Value, bool>) {
      fits = value.is_boolean();
    } else if constexpr (std::is_same_v<Value, double>) {
      fits = value.is_number();
    } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
      fits = value.is_array() &&
             std::all_of(value.begin(), value.end(), [](const Json& element) { return element.is_number(); });
    } else {
      fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    }
    if (!fits) {
      refuse(field, origin, shown_json(value), " is of another type");
    }
    *target = value.get<Value>();
  };
  std::visit(take, field.target(config));
  refuse_outside_limits(config, field, origin, "");
}

Json field_to_json(RunConfig config, const Field& field) {
  return std::visit([](const auto* value) { return Json(*value); }, field.target(config));
}

void check_field(RunConfig config, const Field& field, const Origins& origins) {
  const Origin* const origin = origins.find(field.key);
  refuse_outside_limits(config, field,
                        origin == nullptr ? Origin{.name = field.key, .given = {}, .where = {}} : *origin, "");
}

}  // namespace samegrad
