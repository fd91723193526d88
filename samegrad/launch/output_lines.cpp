#include "samegrad/launch/output_lines.h"

#include <algorithm>

namespace samegrad {
namespace {

constexpr std::size_t kLongestLastLine = 300;

/// It is shown in a message of the launcher, maybe on a terminal.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, kLongestLastLine));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return text;
}

}  // namespace

void OutputLines::take(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const std::size_t room = kLongestLine - line_.size();
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (end > room) {
      line_.append(bytes.substr(0, room));
      bytes.remove_prefix(room);
      end_line("\n", out);
      continue;
    }
    line_.append(bytes.substr(0, end));
    bytes.remove_prefix(end);
    if (!bytes.empty()) {
      end_line(bytes.substr(0, 1), out);
      bytes.remove_prefix(1);
    }
  }
}

void OutputLines::finish(std::string& out) {
  if (!line_.empty()) {
    end_line("\n", out);
  }
}

void OutputLines::end_line(std::string_view end, std::string& out) {
  // The end of "\r\n" and an empty return belong to what is on the screen already.
  const bool continues = line_.empty() && (after_return_ || end == "\r");
  if (!continues) {
    out.append(prefix_).append(line_);
  }
  out.append(end);
  if (!line_.empty()) {
    last_line_ = shown(line_);
  }
  after_return_ = end == "\r";
  line_.clear();
}

}  // namespace samegrad
