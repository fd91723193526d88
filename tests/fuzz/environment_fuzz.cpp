// The variables of launchers, NAME=VALUE a line.
#include <map>

#include "samegrad/comm/environment.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::map<std::string, std::string> variables;
  for (std::string_view rest = fuzz::text_of(data, size); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  fuzz::may_refuse({ExitCode::kBadInput}, [&] {
    const WorkerEnvironment place = read_worker_environment([&](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
    fuzz::require(place.world_size >= 1 && place.rank >= 0 && place.rank < place.world_size, "a rank is in its world");
    fuzz::require(place.local_rank >= 0 && place.local_rank < place.local_world_size, "a local rank is on its host");
    fuzz::accepted();
  });
  return 0;
}
