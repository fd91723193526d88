// A config file, and after "===" the values of --set, one a line.
#include <vector>

#include "samegrad/config/load.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const auto [yaml, lines] = fuzz::two_parts(fuzz::text_of(data, size));
  const std::filesystem::path file = kFolder.write("config.yaml", yaml);
  std::vector<std::string> overrides;
  for (std::string_view rest = lines; !rest.empty() && overrides.size() < 32;) {
    overrides.emplace_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), overrides.back().size() + 1));
  }
  fuzz::may_refuse({ExitCode::kBadInput}, [&] {
    const RunConfig config = load_config(file, overrides);
    const Json json = config_to_json(config);
    fuzz::require(config_to_json(config_from_json(json)) == json, "a config that was accepted is read back the same");
    config_digest(config);
    fuzz::accepted();
  });
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { load_config({}, overrides); });
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { option_values(file, overrides); });
  return 0;
}
