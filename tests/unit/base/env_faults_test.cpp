#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "samegrad/base/error.h"
#include "samegrad/base/fault_point.h"

namespace samegrad {
namespace {

/// How a child process ends that passes rank 1's update 3 with SAMEGRAD_FAULT = `fault`: exit codes 0 (nothing
/// happened), 10 (RunError), 11 (InputError) or the fault's own, -signal when a signal ended or stopped it.
int outcome(const char* fault, std::string_view phase = "backward", int rank = 1, std::int64_t update = 3) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SAMEGRAD_FAULT", fault, 1);
    try {
      fault_point(phase, rank, update);
    } catch (const RunError&) {
      _exit(10);
    } catch (const InputError&) {
      _exit(11);
    }
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  if (WIFSTOPPED(status)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return -WSTOPSIG(status);
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(EnvFaults, DoWhatTheyAreToldWhereTheyAreTold) {
  EXPECT_EQ(outcome("rank=1,step=3,kind=exit:7"), 7);
  EXPECT_EQ(outcome("rank=1,step=3,kind=kill9"), -SIGKILL);
  EXPECT_EQ(outcome("rank=1,step=3,kind=hang"), -SIGSTOP);
  EXPECT_EQ(outcome("rank=1,step=3,kind=throw"), 10);
  EXPECT_EQ(outcome("kind=crash-in-save", "save-manifest"), -SIGKILL);
}

TEST(EnvFaults, LeaveOtherRanksUpdatesAndPhasesAlone) {
  EXPECT_EQ(outcome("rank=0,step=3,kind=throw"), 0);
  EXPECT_EQ(outcome("rank=1,step=4,kind=throw"), 0);
  EXPECT_EQ(outcome("kind=throw", "exchange"), 0);
  EXPECT_EQ(outcome("kind=crash-in-save"), 0);
  EXPECT_EQ(outcome("kind=crash-in-save,phase=save-model", "save-manifest"), 0);
  EXPECT_EQ(outcome(""), 0);
}

TEST(EnvFaults, DefaultToAnyRankAndUpdateAndTakeAPhase) {
  EXPECT_EQ(outcome("kind=throw"), 10);
  EXPECT_EQ(outcome("kind=throw,phase=exchange", "exchange"), 10);
}

TEST(EnvFaults, RefuseWhatTheyCannotRead) {
  for (const char* fault : {"kind=explode", "kind=exit:x", "rank=one,kind=throw", "step=3", "what=1,kind=throw", "x"}) {
    EXPECT_EQ(outcome(fault), 11) << fault;
  }
}

}  // namespace
}  // namespace samegrad
