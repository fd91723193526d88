#include "samegrad/launch/pinned_environment.h"

#include <algorithm>
#include <array>

#include "samegrad/base/error.h"
#include "samegrad/base/pinned_variables.h"

namespace samegrad {
namespace {

struct IsaNames {
  const char* isa;
  const char* aten;
  const char* onednn;
};
constexpr std::array<IsaNames, 3> kIsaNames{
    {{"default", "default", "SSE41"}, {"avx2", "avx2", "AVX2"}, {"avx512", "avx512", "AVX512_CORE"}}};

}  // namespace

EnvironmentVariables pinned_environment(const RunSection& run) {
  EnvironmentVariables variables;
  for (const auto& [name, value] : kPinnedVariables) {
    variables.emplace_back(name, value);
  }
  if (run.isa == "auto") {
    return variables;
  }
  const auto* const found =
      std::ranges::find_if(kIsaNames, [&](const IsaNames& names) { return run.isa == names.isa; });
  if (found == kIsaNames.end()) {
    throw InputError("launch", "run.isa: '" + run.isa + "'; allowed are auto, default, avx2, avx512");
  }
  variables.emplace_back("ATEN_CPU_CAPABILITY", found->aten);
  variables.emplace_back("ONEDNN_MAX_CPU_ISA", found->onednn);
  return variables;
}

}  // namespace samegrad
