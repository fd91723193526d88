// The JSON header of a safetensors file, read strictly: nothing that two readers could understand differently passes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace samegrad {

/// What a header may hold, so that reading one of 100 MB takes no more than 600 MiB of memory.
inline constexpr std::size_t kMostTensors = 250'000;
inline constexpr std::size_t kMostMetadata = 250'000;
inline constexpr std::size_t kLongestTensorName = 4'096;  ///< bytes

/// One tensor as the header says it is: not yet held against the data.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  ///< begin, end
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< in header order
  std::map<std::string, std::string> metadata;
};

/// Parses the header's JSON (without the length before it). Refuses, with CheckError naming `file` and the tensor:
/// anything but one object that starts with '{', a name twice, an unknown, missing or repeated member, a number that is
/// negative, fractional or above 2^63 - 1, more than 64 dimensions, metadata that is not text, a text above 32 MiB,
/// bytes that are not UTF-8, a NUL, more than the numbers above. It stops at the first mistake but a name that stands
/// twice, so memory stays in proportion to the valid
/// part. Local.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file);

}  // namespace samegrad
