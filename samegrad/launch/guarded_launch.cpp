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
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_switch.h"
#include "samegrad/base/json.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/launch/descendants.h"
#include "samegrad/launch/pipe.h"

namespace samegrad {
namespace {

constexpr std::chrono::milliseconds kLongestKill{5'000};
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

[[noreturn]] void run_between(const std::function<LaunchResult(const GuardedSide&)>& body, const GuardedSide& side,
                              int result_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // it may be stopped when the guard hangs up
  prctl(PR_SET_NAME, "samegrad-launch");
  const OrphanKeeper keeper;
  signal(SIGPIPE, SIG_IGN);
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

/// All that the process in between says, while signals are passed on to it.
std::string hear(int pid, const LaunchSignals& signals, int result_fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    std::array<pollfd, 2> polls{{{signals.fd(), POLLIN, 0}, {result_fd, POLLIN, 0}}};
    poll(polls.data(), polls.size(), -1);
    for (const int signal : signals.take()) {
      if (signal != SIGCHLD) {
        kill(pid, signal);
      }
    }
    if (polls[1].revents != 0) {
      const ssize_t count = read(result_fd, buffer.data(), buffer.size());
      if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        return text;
      }
      text.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
  }
}

LaunchResult died(int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = signal != 0 ? 128 + signal : 1;
  const std::string how =
      signal != 0 ? "signal " + std::to_string(signal) : "exit code " + std::to_string(WEXITSTATUS(status));
  return {code, {"[launch] the launcher's own second process was ended (" + how + "); the workers were killed"}, {}};
}

}  // namespace

LaunchResult run_guarded(const std::function<LaunchResult(const GuardedSide&)>& body) {
  const LaunchSignals signals;
  const OrphanKeeper keeper;
  const std::vector<int> others = children_of_this_process();
  Pipe guard;  // hangs up on the child's side when this process dies
  Pipe result;
  std::fflush(nullptr);
  const int pid = fork();
  if (pid == 0) {
    guard.close_end(1);
    result.close_end(0);
    run_between(body, {signals, guard.ends[0]}, result.ends[1]);
  }
  if (pid < 0) {
    throw RunError(kStage, std::string("fork: ") + std::strerror(errno));
  }
  setpgid(pid, pid);
  guard.close_end(0);
  result.close_end(1);
  const std::string text = hear(pid, signals, result.ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!fault_switch("launcher-without-guard")) {
    kill_descendants(kLongestKill, others);
  }
  const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty();
  return whole ? unpacked(text) : died(status);
}

}  // namespace samegrad
