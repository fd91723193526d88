#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "fault";

struct Fault {
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> step;
  std::string kind;
  std::optional<std::string> phase;
  int number = 0;  ///< exit code, signal or seconds
};

[[noreturn]] void refuse(std::string_view part) {
  throw InputError(
      kStage, "SAMEGRAD_FAULT: cannot read '" + std::string(part) +
                  "'; the form is rank=R,step=S,kind=exit:N|signal:N|sleep:S|kill9|hang|throw|crash-in-save,phase=P");
}

std::int64_t parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    refuse(text);
  }
  return value;
}

void parse_kind(Fault& fault, std::string_view kind) {
  if (kind.starts_with("exit:")) {
    fault.number = static_cast<int>(parse_number(kind.substr(5)));
    kind = "exit";
  } else if (kind.starts_with("signal:")) {
    fault.number = static_cast<int>(parse_number(kind.substr(7)));
    kind = "signal";
  } else if (kind.starts_with("sleep:")) {
    fault.number = static_cast<int>(parse_number(kind.substr(6)));
    kind = "sleep";
  } else if (kind != "kill9" && kind != "hang" && kind != "throw" && kind != "crash-in-save") {
    refuse(kind);
  }
  fault.kind = kind;
}

std::optional<Fault> fault_from_environment() {
  const char* const text = std::getenv("SAMEGRAD_FAULT");
  if (text == nullptr || *text == '\0') {
    return std::nullopt;
  }
  Fault fault;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    if (key == "rank") {
      fault.rank = parse_number(value);
    } else if (key == "step") {
      fault.step = parse_number(value);
    } else if (key == "kind") {
      parse_kind(fault, value);
    } else if (key == "phase") {
      fault.phase = value;
    } else {
      refuse(part);
    }
  }
  if (fault.kind.empty()) {
    refuse(text);
  }
  return fault;
}

bool phase_fits(const Fault& fault, std::string_view phase) {
  if (fault.kind == "crash-in-save") {
    return phase.starts_with("save") && (!fault.phase || *fault.phase == phase);
  }
  return phase == fault.phase.value_or("backward");
}

}  // namespace

void fault_point(std::string_view phase, int rank, std::int64_t update) {
  static const std::optional<Fault> kFault = fault_from_environment();
  if (!kFault || !phase_fits(*kFault, phase) || (kFault->rank && *kFault->rank != rank) ||
      (kFault->step && *kFault->step != update)) {
    return;
  }
  if (kFault->kind == "exit") {
    _exit(kFault->number);
  }
  if (kFault->kind == "signal") {
    static bool sent = false;
    if (!std::exchange(sent, true)) raise(kFault->number);
    return;
  }
  if (kFault->kind == "sleep") {
    std::this_thread::sleep_for(std::chrono::seconds(kFault->number));
    return;
  }
  if (kFault->kind == "hang") {
    raise(SIGSTOP);
    return;
  }
  if (kFault->kind == "throw") {
    throw RunError(kStage, "asked for by SAMEGRAD_FAULT: rank " + std::to_string(rank) + ", update " +
                               std::to_string(update) + ", " + std::string(phase));
  }
  raise(SIGKILL);
}

}  // namespace samegrad
