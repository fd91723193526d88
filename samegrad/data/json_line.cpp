#include "samegrad/data/json_line.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "samegrad/base/digest.h"
#include "samegrad/base/json.h"
#include "samegrad/data/bad_line.h"

namespace samegrad {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDeepestNesting = 64;
constexpr std::size_t kFirstCapacity = 4096;

std::string reason_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR:
      return "not valid UTF-8";
    case simdjson::DEPTH_ERROR:
      return "not usable JSON: nested deeper than " + std::to_string(kDeepestNesting);
    default:
      break;
  }
  std::string message = simdjson::error_message(error);
  while (!message.empty() && message.back() == '.') {
    message.pop_back();
  }
  return "not valid JSON: " + message;
}

std::string_view kind_of(dom::element value) {
  switch (value.type()) {
    case dom::element_type::ARRAY:
      return "a list";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return "a number";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      break;
  }
  return "null";
}

[[noreturn]] void throw_wrong_kind(std::string_view name, dom::element value, std::string_view allowed) {
  throw BadLine("\"" + std::string(name) + "\" is " + std::string(kind_of(value)) + "; it must be " +
                std::string(allowed));
}

}  // namespace

JsonLine::JsonLine() {
  if (const auto error = parser_.allocate(kFirstCapacity, kDeepestNesting); error != simdjson::SUCCESS) {
    throw std::bad_alloc();
  }
}

dom::object JsonLine::parse(std::string_view line) {
  dom::element value;
  // simdjson copies the line into its own padded buffer: a view into a file may end at the end of a page.
  if (const auto error = parser_.parse(line.data(), line.size()).get(value); error != simdjson::SUCCESS) {
    throw BadLine(reason_of(error));
  }
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    throw BadLine("the line is " + std::string(kind_of(value)) + "; it must be a JSON object {...}");
  }
  check_unique_fields(object);
  return object;
}

std::string quoted(std::string_view text) {
  return Json(std::string(text.substr(0, 40))).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check_unique_fields(const dom::object& object) {
  // The usual line has few fields: they are compared without taking memory.
  std::array<std::string_view, 8> few;
  std::vector<std::string_view> names;
  std::size_t count = 0;
  for (const auto& [name, value] : object) {
    if (count < few.size()) {
      few[count] = name;
    } else {
      if (names.empty()) names.assign(few.begin(), few.end());
      names.push_back(name);
    }
    ++count;
  }
  if (names.empty()) {
    for (std::size_t i = 0; i < count; ++i) {
      if (std::find(few.begin(), few.begin() + i, few[i]) != few.begin() + i) {
        throw BadLine("the field " + quoted(few[i]) + " stands twice");
      }
    }
    return;
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw BadLine("the field " + quoted(*twice) + " stands twice");
  }
}

dom::element field_of(const dom::object& object, std::string_view name, std::string_view where) {
  dom::element value;
  if (object.at_key(name).get(value) != simdjson::SUCCESS) {
    throw BadLine("no field \"" + std::string(where) + std::string(name) + "\"");
  }
  return value;
}

std::string_view text_value(dom::element value, std::string_view name, std::string_view where) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) {
    throw_wrong_kind(std::string(where) + std::string(name), value, "a string");
  }
  // simdjson checks the line's own bytes, but lets the escape of a lone low surrogate through.
  if (!simdjson::validate_utf8(text)) {
    throw BadLine("\"" + std::string(where) + std::string(name) +
                  "\" is not valid UTF-8: it escapes half of a surrogate pair");
  }
  return text;
}

std::int64_t integer_value(dom::element value, std::string_view name) {
  std::int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS) {
    throw_wrong_kind(name, value, "an integer");
  }
  return number;
}

double weight_value(dom::element value, std::string_view name) {
  constexpr std::string_view kAllowed = "a finite number of at least 0";
  double number = 0.0;
  if (value.get(number) != simdjson::SUCCESS) {
    throw_wrong_kind(name, value, kAllowed);
  }
  if (!std::isfinite(number) || number < 0.0) {
    throw BadLine("\"" + std::string(name) + "\" is " + Json(number).dump() + "; it must be " + std::string(kAllowed));
  }
  return number;
}

std::uint64_t name_value(dom::element value, std::string_view name) {
  std::int64_t number = 0;
  std::string text;
  if (value.is_string()) {
    text = text_value(value, name);
  } else if (value.get(number) == simdjson::SUCCESS) {
    text = std::to_string(number);
  } else {
    throw_wrong_kind(name, value, "text or an integer of 64 bits");
  }
  constexpr std::size_t kDigits = 16;
  const std::uint64_t hash = std::stoull(xxh3_128_hex(text).substr(0, kDigits), nullptr, 16);
  return hash == 0 ? 1 : hash;
}

dom::array list_value(dom::element value, std::string_view name) {
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    throw_wrong_kind(name, value, "a list");
  }
  return list;
}

void append_integers(dom::element value, std::string_view name, std::int64_t least, std::int64_t most,
                     std::int64_t also, std::vector<std::int32_t>& numbers) {
  for (const dom::element element : list_value(value, name)) {
    const auto place = [&] { return "\"" + std::string(name) + "[" + std::to_string(numbers.size()) + "]\" is "; };
    std::int64_t number = 0;
    if (element.get(number) != simdjson::SUCCESS) {
      throw BadLine(place() + std::string(kind_of(element)) +
                    (element.is_number() ? " that is no integer of 64 bits" : "") + "; it must be an integer");
    }
    if (number != also && (number < least || number > most)) {
      throw BadLine(place() + std::to_string(number) + "; allowed is " + std::to_string(least) + ".." +
                    std::to_string(most) + (also < least ? " or " + std::to_string(also) : ""));
    }
    numbers.push_back(static_cast<std::int32_t>(number));
  }
}

}  // namespace samegrad
