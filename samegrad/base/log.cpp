#include "samegrad/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace samegrad {
namespace {

std::atomic<bool> quiet_mode{false};
std::atomic<bool> progress_shown{false};

constexpr std::string_view kEraseLine = "\r\x1b[K";

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return;  // nowhere is left to say it
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

void write_line(std::string_view colour, std::string_view prefix, std::string_view line) {
  std::string text(progress_shown.exchange(false) ? kEraseLine : std::string_view{});
  const bool coloured = !colour.empty() && log_uses_colour();
  text += coloured ? colour : std::string_view{};
  text += prefix;
  text += line;
  text += coloured ? "\x1b[0m\n" : "\n";
  write_to_stderr(text);
}

}  // namespace

void set_log_quiet(bool quiet) { quiet_mode = quiet; }

void log_info(std::string_view line) {
  if (!quiet_mode) {
    write_line("", "", line);
  }
}

void log_warn(std::string_view line) { write_line("\x1b[33m", "warning: ", line); }

void log_error(std::string_view line) { write_line("\x1b[31m", "", line); }

void log_progress(std::string_view line) {
  if (!quiet_mode) {
    progress_shown = true;
    write_to_stderr(std::string(kEraseLine) + std::string(line));
  }
}

bool log_is_terminal() { return isatty(STDERR_FILENO) == 1; }

bool log_uses_colour() {
  const char* const no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && log_is_terminal();
}

}  // namespace samegrad
