#include "tests/campaigns/broken_hangs.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/peer_messages.h"
#include "samegrad/comm/status_writer.h"

namespace {

std::string g_mistake;

}  // namespace

namespace samegrad::testing {

void break_for(const std::string& mistake) {
  constexpr std::array<std::string_view, 5> kKnown{"", "no-record", "blames-a-waiting-rank", "stopped-is-slow",
                                                   "hears-nothing"};
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

std::optional<std::string>
__real__ZN8samegrad9C10dStore4lookERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE(
    samegrad::C10dStore*, const std::string&, std::chrono::milliseconds);
std::optional<std::string>
__wrap__ZN8samegrad9C10dStore4lookERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE(
    samegrad::C10dStore* store, const std::string& key, std::chrono::milliseconds timeout) {
  return g_mistake == "hears-nothing"
             ? std::nullopt
             : __real__ZN8samegrad9C10dStore4lookERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE(
                   store, key, timeout);
}

}  // extern "C"
