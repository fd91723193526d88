#include "samegrad/launch/worker_signals.h"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace samegrad {
namespace {

volatile std::sig_atomic_t stop = 0;
timespec first_at{};  // written once, before `stop`

constexpr double kSameRequestSeconds = 0.1;

void on_stop_signal(int signal) {
  const int kept_errno = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (stop == 0) {
    first_at = now;
    stop = signal;
  } else {
    const double later =
        static_cast<double>(now.tv_sec - first_at.tv_sec) + static_cast<double>(now.tv_nsec - first_at.tv_nsec) * 1e-9;
    if (later >= kSameRequestSeconds) {
      std::signal(signal, SIG_DFL);
      raise(signal);  // delivered when this handler returns
    }
  }
  errno = kept_errno;
}

void install(int signal) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGINT);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_stop_signals() {
  install(SIGTERM);
  install(SIGINT);
}

int stop_signal() { return stop; }

}  // namespace samegrad
