#include "samegrad/launch/guarded_launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_switch.h"
#include "samegrad/base/json.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/launch/command_line_name.h"
#include "samegrad/launch/descendants.h"
#include "samegrad/launch/pipe.h"

namespace samegrad {
namespace {

constexpr std::chrono::milliseconds kLongestKill{5'000};
/// For an inner process that has to kill its own descendants. Were it killed first, and the one that does that then,
/// too, nobody would be left to kill them.
constexpr std::chrono::milliseconds kInnerGrace{300};
constexpr std::string_view kStage = "launch";

std::string packed(const LaunchResult& result) {
  return Json{{"exit_code", result.exit_code},
              {"lines", result.lines},
              {"failure", result.failure},
              {"culprit_rank", result.culprit_rank}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string packed(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  const bool input = known != nullptr && known->exit_code() == ExitCode::kBadInput;
  return Json{{"error", error.what()}, {"input", input}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Error's constructor puts the stage before the message.
std::string without_stage(const std::string& line, std::string& stage) {
  const std::size_t end = line.find("] ");
  stage = line.starts_with('[') && end != std::string::npos ? line.substr(1, end - 1) : std::string(kStage);
  return line.starts_with('[') && end != std::string::npos ? line.substr(end + 2) : line;
}

LaunchResult unpacked(const std::string& text) {
  const Json json = parse_untrusted_json(text);
  if (json.contains("error")) {
    std::string stage;
    const std::string message = without_stage(json["error"].get<std::string>(), stage);
    if (json["input"].get<bool>()) {
      throw InputError(stage, message);
    }
    throw RunError(stage, message);
  }
  return {json["exit_code"].get<int>(), json["lines"].get<std::vector<std::string>>(), json["failure"],
          json["culprit_rank"].get<int>()};
}

/// A child process, which sees by `guard` when this one dies, and writes what it has to say into `result`.
struct Child {
  Pipe guard;
  Pipe result;
  int pid = -1;
};

/// `main` is given the child's ends of both pipes and never returns. Throws RunError.
void start(Child& child, const std::function<void(int guard_fd, int result_fd)>& main) {
  std::fflush(nullptr);
  child.pid = fork();
  if (child.pid == 0) {
    child.guard.close_end(1);
    child.result.close_end(0);
    main(child.guard.ends[0], child.result.ends[1]);
  }
  if (child.pid < 0) {
    throw RunError(kStage, std::string("fork: ") + std::strerror(errno));
  }
  setpgid(child.pid, child.pid);
  child.guard.close_end(0);
  child.result.close_end(1);
}

void begin_child(const char* name) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // it may be stopped when the one above dies
  prctl(PR_SET_NAME, name);
  signal(SIGPIPE, SIG_IGN);
}

[[noreturn]] void run_inner(const GuardedBody& body, const GuardedSide& side, int result_fd) {
  begin_child("samegrad-launch");
  const OrphanKeeper orphans;
  std::string text;
  try {
    text = packed(body(side));
  } catch (const std::exception& error) {
    text = packed(error);
  }
  kill_descendants(kLongestKill);
  write_whole(result_fd, text);
  _exit(0);
}

bool has_ended(int pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/// What is in the pipe now.
void take(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// As a terminal's Ctrl-Z asks, until somebody sends SIGCONT: not at all where no shell is there that would.
void stop_this_process() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
}

/// What a process above hears of one below.
struct Above {
  int fd = -1;            ///< hangs up when the process above this one dies; -1: there is none
  bool is_a_job = false;  ///< a shell knows this process: it stops with the workers
};

/// All that the child says until its end, while signals are passed on to it; nothing where `above.fd` hung up first. A
/// pipe that is still open tells nothing: a child of the child may have it, stopped before it could close it.
std::optional<std::string> hear(const Child& child, const LaunchSignals& signals, const Above& above) {
  std::string text;
  const int result_fd = child.result.ends[0];
  fcntl(result_fd, F_SETFL, O_NONBLOCK);
  std::array<pollfd, 3> polls{{{signals.fd(), POLLIN, 0}, {result_fd, POLLIN, 0}, {above.fd, POLLIN, 0}}};
  while (!has_ended(child.pid)) {
    poll(polls.data(), polls.size(), -1);
    for (const int signal : signals.take()) {
      if (signal != SIGCHLD) {
        kill(child.pid, signal);
      }
      if (signal == SIGTSTP && above.is_a_job) {
        stop_this_process();
        kill(child.pid, SIGCONT);
      }
    }
    if (polls[2].revents != 0) {
      return std::nullopt;
    }
    take(result_fd, text);
    if ((polls[1].revents & POLLHUP) != 0) {
      polls[1].fd = -1;  // its end is told by SIGCHLD
    }
  }
  take(result_fd, text);
  return text;
}

LaunchResult died(int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = signal != 0 ? 128 + signal : 1;
  const std::string how =
      signal != 0 ? "signal " + std::to_string(signal) : "exit code " + std::to_string(WEXITSTATUS(status));
  const std::string line =
      "[launch] one of the launcher's own processes was ended (" + how + "); the workers were killed";
  return {code,
          {line},
          Json{{"exit_code", code},
               {"kind", "launcher"},
               {"culprit", nullptr},
               {"consequences", Json::array()},
               {"lines", {line}}}};
}

int end_of(int pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// Without a name that has to do with samegrad: who kills the launcher by name shall not kill its keeper.
[[noreturn]] void run_keeper(const GuardedBody& body, const GuardedSide& side, const std::function<void()>& clean_up,
                             int result_fd) {
  begin_child("launch-keeper");
  const OrphanKeeper orphans;
  std::string text;
  try {
    Child inner;
    start(inner, [&](int guard_fd, int inner_result_fd) {
      close(result_fd);
      run_inner(body, {side.signals, guard_fd}, inner_result_fd);
    });
    rename_command_line("launch-keeper");
    const std::optional<std::string> heard =
        hear(inner, side.signals,
             {fault_switch("launcher-without-guard") || fault_switch("launcher-without-keeper") ? -1 : side.guard_fd});
    if (!heard) {
      inner.guard.close_end(1);
      kill(inner.pid, SIGCONT);
      kill_descendants(kLongestKill, {}, kInnerGrace);
      clean_up();
      _exit(1);
    }
    const int status = end_of(inner.pid);
    text = ended_well(status) && !heard->empty() ? *heard : packed(died(status));
  } catch (const std::exception& error) {
    text = packed(error);
  }
  if (!fault_switch("launcher-without-keeper")) {
    kill_descendants(kLongestKill);
  }
  write_whole(result_fd, text);
  _exit(0);
}

}  // namespace

LaunchResult run_guarded(const GuardedBody& body, const std::function<void()>& clean_up) {
  const LaunchSignals signals;
  const OrphanKeeper orphans;
  const std::vector<int> others = children_of_this_process();
  Child keeper;
  start(keeper, [&](int guard_fd, int result_fd) { run_keeper(body, {signals, guard_fd}, clean_up, result_fd); });
  const std::string text = hear(keeper, signals, {.is_a_job = true}).value_or("");
  const int status = end_of(keeper.pid);
  const bool well = ended_well(status) && !text.empty();
  if (!fault_switch("launcher-without-guard")) {
    kill_descendants(kLongestKill, others, well ? std::chrono::milliseconds{0} : kInnerGrace);
  }
  return well ? unpacked(text) : died(status);
}

}  // namespace samegrad
