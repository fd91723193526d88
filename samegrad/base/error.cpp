#include "samegrad/base/error.h"

#include "samegrad/base/one_line.h"

namespace samegrad {

Error::Error(ExitCode exit_code, std::string_view stage, std::string_view message)
    : std::runtime_error("[" + std::string(stage) + "] " + one_line(message)), exit_code_(exit_code) {}

}  // namespace samegrad
