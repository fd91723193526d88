#include "samegrad/launch/launch_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

LaunchSignals::LaunchSignals() {
  // An ignored SIGCHLD, inherited from whoever started us, would let the kernel drop the workers' exit codes.
  struct sigaction child_action {};
  child_action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &child_action, &child_action_before_);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) {
      sigaddset(&mask, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &mask, &mask_before_);
  fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) {
    const std::string reason = std::strerror(errno);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    sigaction(SIGCHLD, &child_action_before_, nullptr);
    throw RunError("launch", "signalfd: " + reason);
  }
}

LaunchSignals::~LaunchSignals() {
  close(fd_);
  sigaction(SIGCHLD, &child_action_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::vector<int> LaunchSignals::take() const {
  std::vector<int> signals;
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    signals.push_back(static_cast<int>(info.ssi_signo));
  }
  return signals;
}

}  // namespace samegrad
