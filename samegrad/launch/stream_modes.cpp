#include "samegrad/launch/stream_modes.h"

#include <charconv>
#include <optional>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool is_mode(std::optional<int> mode) { return mode && *mode >= 0 && *mode <= (kOutputBit | kErrorBit); }

}  // namespace

std::vector<int> parse_stream_modes(const std::string& option, const std::string& text, int processes) {
  std::vector<int> modes(static_cast<std::size_t>(processes), 0);
  if (text.empty()) {
    return modes;
  }
  const auto refuse = [&] {
    throw InputError("usage", option + ": '" + text +
                                  "'; allowed: 0 none, 1 standard output, 2 standard error, 3 both, or by rank, as in "
                                  "0:1,1:3, with ranks below " +
                                  std::to_string(processes));
  };
  if (const std::optional<int> all = number(text)) {
    if (!is_mode(all)) {
      refuse();
    }
    return std::vector<int>(static_cast<std::size_t>(processes), *all);
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    const std::string part = text.substr(begin, end == std::string::npos ? end : end - begin);
    const std::size_t colon = part.find(':');
    const std::optional<int> rank = colon == std::string::npos ? std::nullopt : number(part.substr(0, colon));
    const std::optional<int> mode = colon == std::string::npos ? std::nullopt : number(part.substr(colon + 1));
    if (!rank || *rank < 0 || *rank >= processes || !is_mode(mode)) {
      refuse();
    }
    modes[static_cast<std::size_t>(*rank)] = *mode;
  }
  return modes;
}

}  // namespace samegrad
