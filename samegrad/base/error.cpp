#include "samegrad/base/error.h"

namespace samegrad {

Error::Error(ExitCode exit_code, std::string_view stage, std::string_view message)
    : std::runtime_error("[" + std::string(stage) + "] " + std::string(message)), exit_code_(exit_code) {}

}  // namespace samegrad
