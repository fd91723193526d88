#include "samegrad/launch/worker_signals.h"

#include <semaphore.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>

#include "samegrad/base/fault_switch.h"
#include "samegrad/base/stopped_time.h"

namespace samegrad {
namespace {

volatile std::sig_atomic_t stop = 0;
volatile std::sig_atomic_t save = 0;
timespec first_at{};  // written once, before `stop`

/// Posted by a first stop signal: about the only wake that a signal handler may give.
sem_t& stop_semaphore() {
  static sem_t semaphore = [] {
    sem_t made{};
    sem_init(&made, /*pshared=*/0, 0);
    return made;
  }();
  return semaphore;
}

std::optional<sigset_t> mask_before_hold;

constexpr double kSameRequestSeconds = 0.1;

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  return set;
}

void on_stop_signal(int signal) {
  const int kept_errno = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (stop == 0) {
    first_at = now;
    stop = signal;
    sem_post(&stop_semaphore());
  } else if (signal != SIGHUP) {  // of which a closed terminal may send several
    const double later =
        static_cast<double>(now.tv_sec - first_at.tv_sec) + static_cast<double>(now.tv_nsec - first_at.tv_nsec) * 1e-9;
    if (later >= kSameRequestSeconds) {
      std::signal(signal, SIG_DFL);
      raise(signal);  // delivered when this handler returns
    }
  }
  errno = kept_errno;
}

void on_save_signal(int /*signal*/) { save = 1; }

/// Stops as if nobody handled it, and is back when the process goes on.
void on_terminal_stop(int signal) {
  const int kept_errno = errno;
  stop_begins();
  struct sigaction plain {};
  struct sigaction own {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, &own);
  sigset_t mask;
  sigset_t mask_before;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, &mask_before);
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  sigaction(signal, &own, nullptr);
  stop_ends();
  errno = kept_errno;
}

void install(int signal, void (*handler)(int)) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) {
    return;
  }
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGINT);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_stop_signals() {
  stop_semaphore();  // made before a handler needs it
  install(SIGTERM, on_stop_signal);
  install(SIGINT, on_stop_signal);
  install(SIGHUP, on_stop_signal);
  install(SIGUSR1, on_save_signal);
  const sigset_t held = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
}

int stop_signal() { return stop; }

void wait_for_stop_signal() {
  while (sem_wait(&stop_semaphore()) != 0 && errno == EINTR) {
  }
}

void end_wait_for_stop_signal() { sem_post(&stop_semaphore()); }

bool save_signal() { return save != 0; }

void forget_save_signal() { save = 0; }

void note_terminal_stops() { install(SIGTSTP, on_terminal_stop); }

void hold_signals() {
  if (fault_switch("signals-are-not-held")) return;
  const sigset_t held = handled_signals();
  mask_before_hold.emplace();
  pthread_sigmask(SIG_BLOCK, &held, &*mask_before_hold);
}

void release_signals() {
  if (!mask_before_hold) return;
  pthread_sigmask(SIG_SETMASK, &*mask_before_hold, nullptr);
  mask_before_hold.reset();
}

}  // namespace samegrad
