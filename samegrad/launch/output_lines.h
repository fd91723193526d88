// A stream of bytes cut into lines that carry their rank's name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace samegrad {

/// Longer lines are cut into several.
inline constexpr std::size_t kLongestLine = 8'192;

/// Cuts one stream. A carriage return ends a line too, so that a progress bar goes on overwriting itself.
class OutputLines {
 public:
  /// `prefix` is put before each line that is not empty.
  explicit OutputLines(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Appends to `out` what can be shown now that `bytes` have come; an unfinished line waits. Local.
  void take(std::string_view bytes, std::string& out);
  /// Appends the unfinished line. Local.
  void finish(std::string& out);

  /// The last line that was not empty, without control characters, cut to 300 characters. Local.
  const std::string& last_line() const { return last_line_; }

 private:
  void end_line(std::string_view end, std::string& out);

  std::string prefix_;
  std::string line_;
  std::string last_line_;
  bool after_return_ = false;
};

}  // namespace samegrad
