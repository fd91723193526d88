#include "tests/campaigns/forked_case.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "samegrad/base/deadline.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/gloo_communicator.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/meeting.h"
#include "samegrad/comm/shm_communicator.h"

namespace samegrad::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::minutes kMeet{1};

struct Report {
  std::int32_t threw = 0;
  std::int32_t culprit_rank = -1;
  double late_seconds = 0;
  std::uint64_t message_bytes = 0;
};

std::unique_ptr<Communicator> joined(const ForkedCase& one, int fd, int rank) {
  if (one.backend == Backend::kShm) return join_shared_memory(fd, rank, one.ranks, kMeet);
  auto status = std::make_shared<StatusWriter>(rank, one.ranks);
  RankFacts mine = facts_of_this_process();
  mine.status_fd = status->share();
  const auto store = open_store_file(fd, one.ranks);
  Meeting meeting(*store, rank, one.ranks, kMeet);
  std::vector<RankFacts> ranks = meeting.exchange_facts(mine);
  auto comm = std::make_unique<GlooCommunicator>(store, rank, std::move(ranks), kMeet, std::move(status));
  comm->barrier({"join", 0, kMeet});
  return comm;
}

[[noreturn]] void be_rank(const ForkedCase& one, int fd, int rank, const RankBody& body, int report_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Report report;
  std::string message;
  Clock::time_point deadline = Clock::now();
  try {
    const std::unique_ptr<Communicator> comm = joined(one, fd, rank);
    keep_status_in(*comm, one.folder);
    try {
      body(*comm, deadline);
    } catch (const std::exception&) {
      report.late_seconds = std::chrono::duration<double>(Clock::now() - deadline).count();
      throw;
    }
  } catch (const Error& error) {
    report.threw = 1;
    message = error.what();
    if (const auto* const peer = dynamic_cast<const PeerError*>(&error)) report.culprit_rank = peer->culprit_rank();
  } catch (const std::exception& error) {
    std::abort();
  }
  report.message_bytes = message.size();
  const bool told = write(report_fd, &report, sizeof(report)) == static_cast<ssize_t>(sizeof(report)) &&
                    write(report_fd, message.data(), message.size()) == static_cast<ssize_t>(message.size());
  _exit(told ? 0 : 1);
}

/// All that is written until the other end closes, or "" where that lasts past the deadline.
std::string read_to_end(int fd, const Deadline& deadline) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(deadline.left().count())) != 1) return "";
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void take_report(const std::string& bytes, RankEnd& end) {
  Report report;
  if (bytes.size() < sizeof(report)) return;
  std::memcpy(&report, bytes.data(), sizeof(report));
  end.ended = bytes.size() == sizeof(report) + report.message_bytes;
  end.threw = report.threw != 0;
  end.culprit_rank = report.culprit_rank;
  end.late_seconds = report.late_seconds;
  end.message = bytes.substr(sizeof(report));
}

}  // namespace

std::vector<RankEnd> run_forked(const ForkedCase& one, const RankBody& body,
                                const std::function<void(const std::vector<pid_t>&)>& meanwhile) {
  std::filesystem::remove_all(one.folder);
  std::filesystem::create_directories(one.folder);
  const int fd = one.backend == Backend::kShm ? create_shared_memory(one.ranks) : create_store_file();
  std::vector<RankEnd> ends(static_cast<std::size_t>(one.ranks));
  std::vector<int> pipes;
  std::vector<pid_t> pids;
  for (int rank = 0; rank < one.ranks; ++rank) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) throw RunError("campaign", "pipe");
    const pid_t pid = fork();
    if (pid < 0) throw RunError("campaign", "fork");
    if (pid == 0) {
      for (const int other : pipes) close(other);
      close(pipe_ends[0]);
      be_rank(one, fd, rank, body, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    pipes.push_back(pipe_ends[0]);
    pids.push_back(pid);
    ends[static_cast<std::size_t>(rank)].pid = pid;
  }
  close(fd);
  if (meanwhile) meanwhile(pids);
  const Deadline deadline(one.limit);
  for (int rank = 0; rank < one.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (std::ranges::find(one.never_ends, rank) == one.never_ends.end()) {
      take_report(read_to_end(pipes[index], deadline), ends[index]);
    }
  }
  for (std::size_t rank = 0; rank < pids.size(); ++rank) {
    kill(pids[rank], SIGKILL);
    waitpid(pids[rank], nullptr, 0);
    close(pipes[rank]);
  }
  return ends;
}

}  // namespace samegrad::testing
