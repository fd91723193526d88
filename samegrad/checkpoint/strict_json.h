// JSON out of a checkpoint, read so that it can be understood in one way only.
#pragma once

#include <string>
#include <string_view>

#include "samegrad/base/json.h"

namespace samegrad {

/// Parses one JSON value that is all of `bytes`. Throws CheckError (stage "checkpoint") naming `file`: not JSON, not
/// UTF-8, a NUL byte, a key twice in one object (a plain parser keeps the last one silently), nested deeper than 100.
/// Local.
Json parse_strict_json(std::string_view bytes, const std::string& file);

}  // namespace samegrad
