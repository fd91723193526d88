// This program's own fault_point: it calls what a test has hung up.
#pragma once

#include <functional>
#include <string_view>

namespace samegrad {

/// Empty: fault points do nothing.
std::function<void(std::string_view phase)>& fault_hook();

}  // namespace samegrad
