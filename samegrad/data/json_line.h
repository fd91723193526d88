// One JSON object a line, read strictly: whole, valid UTF-8, no field twice where we read, nothing nested deep.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

class JsonLine {
 public:
  JsonLine();

  /// Parses one line. The object lives until the next call. Throws BadLine: not JSON, not UTF-8, not an object, a field
  /// twice, nested deeper than 64. Local.
  simdjson::dom::object parse(std::string_view line);

 private:
  simdjson::dom::parser parser_;
};

/// The beginning of `text` as a JSON string, for messages: one line of UTF-8 whatever it holds.
std::string quoted(std::string_view text);

/// Whether the object has the field.
bool has_field(const simdjson::dom::object& object, std::string_view name);

/// Throws BadLine when a field's name stands twice in `object`: readers disagree about which of the two counts.
void check_unique_fields(const simdjson::dom::object& object);

/// The field as text. Throws BadLine: missing, no string, or holding half of a surrogate pair (\ud800), which is no
/// UTF-8. The view lives as long as the parsed line. `where` stands before the name in messages, e.g. "messages[2].".
std::string_view string_field(const simdjson::dom::object& object, std::string_view name, std::string_view where = "");

/// The field as an integer. Throws BadLine: missing, no integer.
std::int64_t integer_field(const simdjson::dom::object& object, std::string_view name);

/// The field as a finite number of at least 0. Throws BadLine: missing, no such number.
double weight_field(const simdjson::dom::object& object, std::string_view name);

/// The field, text or an integer, as a number that is the same for the same text (the integer's digits): 64 bits of its
/// XXH3-128, never 0. Throws BadLine: missing, anything else. Local.
std::uint64_t name_field(const simdjson::dom::object& object, std::string_view name);

/// The field as a list. Throws BadLine: missing, no list.
simdjson::dom::array array_field(const simdjson::dom::object& object, std::string_view name);

/// The field as a list of integers in least..most, or equal to `also`. Throws BadLine naming the first that is not:
/// "tokens[3] is 7: ...allowed...".
std::vector<std::int32_t> integers_field(const simdjson::dom::object& object, std::string_view name, std::int64_t least,
                                         std::int64_t most, std::int64_t also);

}  // namespace samegrad
