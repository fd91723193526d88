// JSON for everything samegrad writes and for the small files it reads back. Members keep their order; doubles are
// written so that they read back to the same bits.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace samegrad {

using Json = nlohmann::ordered_json;

/// Reads a whole JSON file. Throws InputError (stage `stage`) naming file and reason: missing, not a regular file,
/// larger than 256 MiB, not JSON, nested deeper than 100. Local.
Json read_json_file(const std::filesystem::path& path, std::string_view stage);

/// Writes `value` with two-space indentation and a final newline, atomically (base/atomic_file.h). Local.
void write_json_file(const std::filesystem::path& path, const Json& value);

}  // namespace samegrad
