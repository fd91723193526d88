#include "samegrad/comm/process_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace samegrad {
namespace {

/// A child that waits for a signal.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) {
        pause();
      }
    }
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }
  /// Sends `signal` and returns when it has had its effect; an ended child stays a zombie.
  void send(int signal, int effect) const {
    kill(pid_, signal);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, effect | WNOWAIT);
  }

 private:
  int pid_;
};

TEST(ProcessWatch, SeesThatAProcessLivesAndThatAZombieDoesNot) {
  const Child child;
  const ProcessWatch watch(child.pid(), process_start_time(child.pid()));
  EXPECT_FALSE(watch.ended());
  child.send(SIGKILL, WEXITED);
  EXPECT_TRUE(watch.ended());
  EXPECT_TRUE(ProcessWatch(child.pid(), 0).ended());
}

TEST(ProcessWatch, TakesALaterProcessWithTheSamePidForAnotherOne) {
  const std::uint64_t start = process_start_time(getpid());
  ASSERT_GT(start, 0U);
  EXPECT_FALSE(ProcessWatch(getpid(), start).ended());
  EXPECT_TRUE(ProcessWatch(getpid(), start - 1).ended());
}

TEST(ProcessWatch, SeesThatAProcessIsGone) {
  int pid = 0;
  {
    const Child child;
    pid = child.pid();
  }
  EXPECT_TRUE(ProcessWatch(pid, 0).ended());
  EXPECT_EQ(process_start_time(pid), 0U);
}

TEST(ProcessIsStopped, TellsAStoppedProcessFromALivingOne) {
  const Child child;
  EXPECT_FALSE(process_is_stopped(child.pid()));
  child.send(SIGSTOP, WSTOPPED);
  EXPECT_TRUE(process_is_stopped(child.pid()));
  EXPECT_FALSE(ProcessWatch(child.pid(), 0).ended());
}

}  // namespace
}  // namespace samegrad
