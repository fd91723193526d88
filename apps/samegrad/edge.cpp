#include "apps/samegrad/edge.h"

#include <filesystem>
#include <iostream>
#include <string_view>

#include "samegrad/base/error.h"
#include "samegrad/base/one_line.h"

namespace samegrad {

namespace {

/// What the user named cannot even be looked at: a loop of links, a folder without the right to enter it. Writing fails
/// with errors of samegrad's own.
bool is_unusable_path(const std::exception& error) {
  return dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr;
}

}  // namespace

std::string error_line(const std::exception& error) {
  const bool expected = dynamic_cast<const Error*>(&error) != nullptr;
  const char* const stage = expected ? "" : is_unusable_path(error) ? "[files] " : "[fault of samegrad] ";
  return one_line(stage + std::string(error.what()));
}

int error_exit_code(const std::exception& error) {
  const auto* const expected = dynamic_cast<const Error*>(&error);
  const ExitCode other = is_unusable_path(error) ? ExitCode::kBadInput : ExitCode::kRunFailed;
  return static_cast<int>(expected == nullptr ? other : expected->exit_code());
}

std::string result_text(const Json& result) { return result.dump(2, ' ', false, Json::error_handler_t::replace); }

void flush_results() {
  if (!std::cout.flush()) {
    throw RunError("print", "standard output cannot be written: the results above are not complete");
  }
}

}  // namespace samegrad
