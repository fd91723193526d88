#include "tests/campaigns/broken_hangs.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/status_writer.h"

namespace {

std::string g_mistake;

}  // namespace

namespace samegrad::testing {

void break_for(const std::string& mistake) {
  constexpr std::array<std::string_view, 4> kKnown{"", "no-record", "blames-a-waiting-rank", "stopped-is-slow"};
  if (std::ranges::find(kKnown, mistake) == kKnown.end()) throw std::invalid_argument("--broken " + mistake);
  g_mistake = mistake;
}

}  // namespace samegrad::testing

// The linker gives these names to the real functions and calls these in their place (--wrap).
extern "C" {

void __real__ZN8samegrad12StatusWriter9set_phaseESt17basic_string_viewIcSt11char_traitsIcEEl(samegrad::StatusWriter*,
                                                                                             std::string_view,
                                                                                             std::int64_t);
void __wrap__ZN8samegrad12StatusWriter9set_phaseESt17basic_string_viewIcSt11char_traitsIcEEl(
    samegrad::StatusWriter* writer, std::string_view phase, std::int64_t update) {
  if (g_mistake == "no-record") return;
  __real__ZN8samegrad12StatusWriter9set_phaseESt17basic_string_viewIcSt11char_traitsIcEEl(writer, phase, update);
}

char __real__ZN8samegrad13process_stateEi(int pid);
char __wrap__ZN8samegrad13process_stateEi(int pid) {
  return g_mistake == "stopped-is-slow" ? 'S' : __real__ZN8samegrad13process_stateEi(pid);
}

int __real__ZN8samegrad14likely_culpritESt4spanIKNS_11MissingPeerELm18446744073709551615EE(
    std::span<const samegrad::MissingPeer> peers);
int __wrap__ZN8samegrad14likely_culpritESt4spanIKNS_11MissingPeerELm18446744073709551615EE(
    std::span<const samegrad::MissingPeer> peers) {
  const int culprit = __real__ZN8samegrad14likely_culpritESt4spanIKNS_11MissingPeerELm18446744073709551615EE(peers);
  if (g_mistake != "blames-a-waiting-rank") return culprit;
  return culprit == 0 ? 1 : 0;
}

}  // extern "C"
