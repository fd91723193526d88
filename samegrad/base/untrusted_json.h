// JSON text that may come from anybody: read strictly, and so that it can be copied, compared and printed safely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "samegrad/base/json.h"

namespace samegrad {

/// Why a text or a value was refused: one short line of ASCII.
class JsonRefused : public Json::exception {
 public:
  explicit JsonRefused(const std::string& reason) : Json::exception(501, reason.c_str()) {}
};

/// Parses one JSON value. Throws JsonRefused for: no JSON, a NUL byte (what follows it
/// would go unread), a name twice in one object (readers disagree about which counts), nesting deeper than 100 (copies
/// and comparisons recurse), more than a million values (each takes many times its text), more than 32 MiB. The member
/// `left_out` of the outermost object is passed over: it costs no memory, and the text may have any size. Local.
Json parse_untrusted_json(std::string_view text, std::string_view left_out = {});

/// The value as a whole number of least..most. Throws JsonRefused for any other, where a conversion would be undefined
/// or give another number. Local.
std::int64_t whole_number(const Json& value, std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX);

}  // namespace samegrad
