// Where each rank's standard output and error go, in torchrun's words.
#pragma once

#include <string>
#include <vector>

namespace samegrad {

/// Bits of a mode: 1 standard output, 2 standard error.
inline constexpr int kOutputBit = 1;
inline constexpr int kErrorBit = 2;

/// The mode of each of `processes` ranks in `text`: "0" none, "1" output, "2" error, "3" both; or by rank, "0:1,1:2",
/// where ranks that are left out have 0. "" is 0. Throws InputError naming `option`. Local.
std::vector<int> parse_stream_modes(const std::string& option, const std::string& text, int processes);

}  // namespace samegrad
