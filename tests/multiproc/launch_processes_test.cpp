// The launcher with real processes: what it starts, passes on, ends, and leaves behind (nothing).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "samegrad/base/error.h"
#include "tests/multiproc/launched.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::launched;
using testing::text_of;
using testing::worker_options;

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "samegrad_launch_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Launch, GivesEveryWorkerItsPlaceAndThePinnedEnvironment) {
  const Folder folder;
  setenv("OMP_NUM_THREADS", "17", 1);
  LaunchOptions options = worker_options("shows-environment", 3, folder.path());
  options.environment = pinned_environment(RunSection{});
  options.environment.emplace_back("ADDED", "yes");
  const LaunchResult result = launch_workers(options);
  ASSERT_EQ(result.exit_code, 0) << text_of(result);
  for (const std::string rank : {"0", "1", "2"}) {
    std::ifstream file(folder.path() / rank);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(text, "RANK=" + rank + "\nWORLD_SIZE=3\nLOCAL_RANK=" + rank +
                        "\nLOCAL_WORLD_SIZE=3\nOMP_NUM_THREADS=1\nADDED=yes\ngroup=own\n");
  }
}

TEST(Launch, LeavesNoChildAndNoDescriptorBehindWhateverHappens) {
  const auto before = open_descriptors();
  for (const char* mode : {"collectives", "killed", "stopped", "throws", "mismatched"}) {
    LaunchOptions options = worker_options(mode, 2);
    options.grace = options.term_grace = milliseconds(300);
    launch_workers(options);
    EXPECT_FALSE(has_children()) << mode;
    EXPECT_EQ(open_descriptors(), before) << mode;
  }
}

TEST(Launch, PassesSigtermOnAndReturns143OnceAllHaveStopped) {
  const LaunchResult result = launched("stops-when-asked", 3, std::to_string(SIGTERM));
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_TRUE(result.lines.empty()) << text_of(result);
}

TEST(Launch, PassesSigintOnAndReturns130OnceAllHaveStopped) {
  const LaunchResult result = launched("stops-when-asked", 2, std::to_string(SIGINT));
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_TRUE(result.lines.empty()) << text_of(result);
}

TEST(Launch, KillsTheWorkersAtASecondSignal) {
  const LaunchResult result = launched("ignores-the-wish-to-stop", 2);
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_FALSE(has_children());
}

TEST(Launch, EndsWorkersThatDoNotEndThemselvesAfterAFailure) {
  LaunchOptions options = worker_options("ignores-terminate-after-a-failure", 3);
  options.grace = milliseconds(50);
  options.term_grace = milliseconds(50);
  const LaunchResult result = launch_workers(options);
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_EQ(result.lines.size(), 2U);
  EXPECT_THAT(result.lines[0], HasSubstr("rank 1 (pid "));
  EXPECT_EQ(result.lines[1], "[launch] in consequence ranks 0, 2: ended by the launcher");
}

TEST(Launch, ItsWorkersDieWithItWhenItIsKilled) {
  const Folder folder;
  const std::filesystem::path pids = folder.path() / "pids";
  const LaunchResult result = launched("launcher", 1, pids);
  EXPECT_EQ(result.exit_code, 137) << text_of(result);
  std::ifstream file(pids);
  int orphans = 0;
  for (int pid = 0; file >> pid; ++orphans) {
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }
  EXPECT_EQ(orphans, 3);
}

TEST(Launch, ARankThatIsDoneBeforeItJoinsLeavesNobodyWaiting) {
  const LaunchResult result = launched("done-before-joining", 3);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.culprit_rank, 1);
  EXPECT_THAT(
      result.lines.at(0),
      ::testing::MatchesRegex(R"(\[launch\] rank 1 \(pid [0-9]+, exit code 0\) ended before the others were done.*)"
                              R"(until rank [02] gave up: .*its process ended with exit code )"
                              R"(0 before it joined the others.*)"));
}

TEST(Launch, WhereRanksMeetInAFileTheLauncherEndsThoseThatWaitForOneThatIsDone) {
  LaunchOptions options = worker_options("waits-in-a-file", 2);
  options.share_memory = false;
  const LaunchResult result = launch_workers(options);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.culprit_rank, 1);
  EXPECT_THAT(result.lines.at(0), HasSubstr("exit code 0) ended before it joined the others"));
}

TEST(Launch, NamesAProgramThatCannotBeStarted) {
  LaunchOptions options;
  options.program = "/nonexistent/worker";
  options.processes = 2;
  try {
    launch_workers(options);
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "[launch] cannot start '/nonexistent/worker': No such file or directory");
  }
  EXPECT_FALSE(has_children());
}

TEST(Launch, RefusesANumberOfProcessesOutsideItsRange) {
  for (const int processes : {-1, 0, 257}) {
    LaunchOptions options = worker_options("collectives", 1);
    options.processes = processes;
    EXPECT_THROW(launch_workers(options), InputError) << processes;
  }
}

}  // namespace
}  // namespace samegrad
