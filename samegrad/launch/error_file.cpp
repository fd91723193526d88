#include "samegrad/launch/error_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "samegrad/base/json.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

/// Nothing where it is no regular file, or too large.
std::optional<std::string> read_regular_file(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    return std::nullopt;
  }
  struct stat status {};
  std::optional<std::string> text;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= static_cast<off_t>(kLargestFile)) {
    text.emplace(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t count = pread(fd, text->data(), text->size(), 0);
    text->resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
  close(fd);
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool write_error_file(const std::string& message, bool is_consequence) {
  const char* const path = std::getenv(kErrorFileVariable);
  if (path == nullptr || *path == '\0') {
    return true;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string seconds =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count() + (is_consequence ? 1 : 0));
  const Json json{
      {"message", {{"message", message}, {"extraInfo", {{"py_callstack", message}, {"timestamp", seconds}}}}}};
  std::ofstream file(path);
  file << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  return static_cast<bool>(file.flush());
}

std::optional<std::string> read_error_file(const std::filesystem::path& file) {
  const std::optional<std::string> text = read_regular_file(file);
  if (!text) {
    return std::nullopt;
  }
  try {
    const Json message = parse_untrusted_json(*text).at("message");
    const Json& line = message.is_object() ? message.at("message") : message;
    return first_line(line.get<std::string>());
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace samegrad
