#include <iostream>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/library_versions.h"
#include "samegrad/base/json.h"

namespace samegrad {

int run_version(const CommandLine& command) {
  Json json = Json::object();
  for (const auto& [name, version] : library_versions()) {
    json[name] = version;
  }
  if (command.json) {
    std::cout << result_text(json) << "\n";
    return 0;
  }
  for (const auto& [name, version] : json.items()) {
    std::cout << name << " " << version.get<std::string>() << "\n";
  }
  return 0;
}

}  // namespace samegrad
