#include "apps/samegrad/edge.h"

#include <iostream>

#include "samegrad/base/error.h"

namespace samegrad {

std::string error_line(const std::exception& error) {
  const bool expected = dynamic_cast<const Error*>(&error) != nullptr;
  return (expected ? "" : "[fault of samegrad] ") + std::string(error.what());
}

int error_exit_code(const std::exception& error) {
  const auto* const expected = dynamic_cast<const Error*>(&error);
  return static_cast<int>(expected == nullptr ? ExitCode::kRunFailed : expected->exit_code());
}

void flush_results() {
  if (!std::cout.flush()) {
    throw RunError("print", "standard output cannot be written: the results above are not complete");
  }
}

}  // namespace samegrad
