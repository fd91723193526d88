// Runs a Python script that stands beside the tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace samegrad {

/// Whether `script` (in this folder), given the arguments, ends with code 0.
inline bool oracle_accepts(const std::string& script, const std::vector<std::string>& arguments) {
  std::string command = std::string(SAMEGRAD_PYTHON) + " -B " + SAMEGRAD_ORACLES + "/" + script;
  for (const std::string& argument : arguments) {
    command += " '" + argument + "'";
  }
  return std::system(command.c_str()) == 0;
}

}  // namespace samegrad
