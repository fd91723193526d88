#include "samegrad/report/png.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "samegrad/base/temporary_name.h"

namespace samegrad {
namespace {

// Exit status of a process that ended by itself, 128 + signal of one that was ended.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string convert_to_png(const std::filesystem::path& svg, const std::filesystem::path& png) {
  const std::filesystem::path partial = temporary_path(png);
  std::error_code error;
  remove_left_temporaries(png);
  std::filesystem::remove(partial, error);  // a link there would be written through
  // Absolute paths: a name that begins with '-' must not become an option.
  std::string input = std::filesystem::absolute(svg).string();
  std::string output = std::filesystem::absolute(partial).string();
  std::string program = "rsvg-convert";
  std::string zoom = "--zoom=2";
  std::string format = "--format=png";
  std::string output_option = "--output";
  std::array<char*, 7> arguments{program.data(), zoom.data(),  format.data(), output_option.data(),
                                 output.data(),  input.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (failed == ENOENT) {
    return "no PNG of " + svg.string() + ": rsvg-convert is not installed (Debian package librsvg2-bin); the SVG stays";
  }
  if (failed != 0) return "no PNG of " + svg.string() + ": rsvg-convert: " + std::strerror(failed);
  const int status = wait_for(child);
  if (status == 0) std::filesystem::rename(partial, png, error);
  if (status == 0 && !error) return "";
  const std::string reason = status != 0 ? "rsvg-convert ended with " + std::to_string(status) : error.message();
  std::filesystem::remove(partial, error);
  return "no PNG of " + svg.string() + ": " + reason + "; the SVG stays";
}

}  // namespace samegrad
