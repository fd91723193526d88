#include "samegrad/launch/worker_outcome.h"

#include <csignal>
#include <cstring>

namespace samegrad {

int code_of(const WorkerOutcome& outcome) {
  return outcome.end.signal != 0 ? 128 + outcome.end.signal : outcome.end.exit_code;
}

std::string how_it_ended(const WorkerOutcome& outcome) {
  if (outcome.end.signal == 0) {
    return "exit code " + std::to_string(outcome.end.exit_code);
  }
  const char* const name = sigabbrev_np(outcome.end.signal);
  return "signal " + std::to_string(outcome.end.signal) + (name == nullptr ? "" : " SIG" + std::string(name));
}

bool stopped_as_asked(const WorkerOutcome& outcome, int passed_signal) {
  const int code = code_of(outcome);
  const bool by_itself = outcome.end.signal == 0 && !outcome.report &&
                         (code == 128 + SIGTERM || code == 128 + SIGINT || code == 128 + SIGHUP);
  return by_itself || (passed_signal != 0 && outcome.end.signal == passed_signal);
}

bool has_failed(const WorkerOutcome& outcome, int passed_signal) {
  return code_of(outcome) != 0 && !stopped_as_asked(outcome, passed_signal);
}

}  // namespace samegrad
