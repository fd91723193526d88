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

/// Throws BadLine when a field's name stands twice in `object`: readers disagree about which of the two counts.
void check_unique_fields(const simdjson::dom::object& object);

/// The object's field. Throws BadLine: missing. `where` stands before the name in messages, e.g. "messages[2].".
simdjson::dom::element field_of(const simdjson::dom::object& object, std::string_view name,
                                std::string_view where = "");

// The value of a field whose name stands in messages. Views live as long as the parsed line.

/// As text. Throws BadLine: no string, or holding half of a surrogate pair (\ud800), which is no UTF-8.
std::string_view text_value(simdjson::dom::element value, std::string_view name, std::string_view where = "");

/// As an integer. Throws BadLine: no integer.
std::int64_t integer_value(simdjson::dom::element value, std::string_view name);

/// As a finite number of at least 0. Throws BadLine: no such number.
double weight_value(simdjson::dom::element value, std::string_view name);

/// Text or an integer, as a number that is the same for the same text (the integer's digits): 64 bits of its XXH3-128,
/// never 0. Throws BadLine: anything else. Local.
std::uint64_t name_value(simdjson::dom::element value, std::string_view name);

/// As a list. Throws BadLine: no list.
simdjson::dom::array list_value(simdjson::dom::element value, std::string_view name);

/// Appends a list of integers in least..most, or equal to `also`, to `numbers`, which is empty. Throws BadLine naming
/// the first that is not: "tokens[3] is 7: ...allowed...".
void append_integers(simdjson::dom::element value, std::string_view name, std::int64_t least, std::int64_t most,
                     std::int64_t also, std::vector<std::int32_t>& numbers);

}  // namespace samegrad
