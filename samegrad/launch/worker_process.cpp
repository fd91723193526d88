#include "samegrad/launch/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_switch.h"
#include "samegrad/launch/pipe.h"

namespace samegrad {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw RunError("launch", what + ": " + std::strerror(error));
}

/// This process's environment with `replaced` put in place.
std::vector<std::string> merged_environment(const EnvironmentVariables& replaced) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(replaced, [&](const auto& variable) { return variable.first == name; })) {
      merged.emplace_back(text);
    }
  }
  for (const auto& [name, value] : replaced) {
    merged.push_back(name);
    merged.back().append("=").append(value);
  }
  return merged;
}

std::vector<char*> null_terminated(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// All that the child needs; made before fork, for afterwards only async-signal-safe calls are allowed.
struct ChildPlan {
  const char* path;
  char* const* arguments;
  char* const* environment;
  const sigset_t* signal_mask;
  const std::vector<int>* inherited_fds;
  int parent_pid;
  bool dies_with_parent;
  int output_fd;
  int standard_error_fd;
  int report_fd;
  int null_fd;
  int exec_error_fd;
};

[[noreturn]] void become_worker(const ChildPlan& plan) {
  setpgid(0, 0);
  if (plan.dies_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  if (getppid() != plan.parent_pid) {  // it died before prctl
    _exit(1);
  }
  dup2(plan.null_fd, STDIN_FILENO);
  if (plan.output_fd >= 0) {
    dup2(plan.output_fd, STDOUT_FILENO);
  }
  if (plan.standard_error_fd >= 0) {
    dup2(plan.standard_error_fd, STDERR_FILENO);
  }
  fcntl(plan.report_fd, F_SETFD, 0);
  for (const int fd : *plan.inherited_fds) {
    fcntl(fd, F_SETFD, 0);
  }
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
  execve(plan.path, plan.arguments, plan.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(plan.exec_error_fd, &error, sizeof(error));
  _exit(127);
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerProgram& program) {
  Pipe report;
  Pipe exec_error;
  std::vector<std::string> arguments{program.path};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  EnvironmentVariables variables = program.environment;
  variables.emplace_back(kReportVariable, std::to_string(report.ends[1]));
  std::vector<std::string> environment = merged_environment(variables);
  const std::vector<char*> argument_pointers = null_terminated(arguments);
  const std::vector<char*> environment_pointers = null_terminated(environment);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd < 0) {
    refuse("/dev/null", errno);
  }
  const ChildPlan plan{program.path.c_str(),
                       argument_pointers.data(),
                       environment_pointers.data(),
                       &program.signal_mask,
                       &program.inherited_fds,
                       getpid(),
                       !fault_switch("launcher-without-death-signal"),
                       program.output_fd,
                       program.error_fd,
                       report.ends[1],
                       null_fd,
                       exec_error.ends[1]};
  pid_ = fork();
  if (pid_ == 0) {
    become_worker(plan);
  }
  const int fork_error = errno;
  close(null_fd);
  if (pid_ < 0) {
    refuse("fork", fork_error);
  }
  running_ = true;
  setpgid(pid_, pid_);  // whichever of the two comes first; fails harmlessly after exec
  exec_error.close_end(1);
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(exec_error.ends[0], &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof(error))) {
    waitpid(pid_, nullptr, 0);
    running_ = false;
    const bool is_there = access(program.path.c_str(), F_OK) == 0;
    const bool has_no_interpreter = error == ENOEXEC || (error == ENOENT && is_there);
    throw InputError("launch",
                     "cannot start '" + program.path + "': " + std::strerror(error) +
                         (has_no_interpreter ? "; a script needs a first line #!/path/of/its/interpreter" : ""));
  }
  fcntl(report.ends[0], F_SETFL, O_NONBLOCK);
  report_fd_ = report.release_end(0);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(other.pid_),
      running_(std::exchange(other.running_, false)),
      report_fd_(std::exchange(other.report_fd_, -1)) {}

WorkerProcess::~WorkerProcess() {
  if (running_) {
    send(SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (report_fd_ >= 0) {
    close(report_fd_);
  }
}

void WorkerProcess::send(int signal) const {
  if (running_) {
    kill(-pid_, signal);
  }
}

std::optional<WorkerEnd> WorkerProcess::reap() {
  int status = 0;
  if (!running_ || waitpid(pid_, &status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  running_ = false;
  WorkerEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

std::optional<FailureReport> WorkerProcess::read_report() const {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(report_fd_, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return failure_report_from_line(std::string_view(text).substr(0, text.find('\n')));
}

}  // namespace samegrad
