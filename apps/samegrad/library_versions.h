// What this build is made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace samegrad {

/// Name and version: samegrad first, then compiler and libraries. Local.
std::vector<std::pair<std::string, std::string>> library_versions();

}  // namespace samegrad
