#include "samegrad/launch/worker_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <future>

#include "samegrad/launch/stop_deadline.h"

namespace samegrad {
namespace {

/// The wait status of a child that runs `body` and exits with its result.
int status_of_child(const std::function<int()>& body) {
  const int pid = fork();
  if (pid == 0) {
    _exit(body());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(StopSignals, AFirstSignalIsOnlyRemembered) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const int status = status_of_child([signal] {
      install_stop_signals();
      const int before = stop_signal();
      raise(signal);
      return before == 0 ? stop_signal() : 99;
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), signal);
  }
}

TEST(StopSignals, TheSameRequestSentTwiceAtOnceIsOne) {
  for (;;) {
    const auto start = std::chrono::steady_clock::now();
    const int status = status_of_child([] {
      install_stop_signals();
      raise(SIGTERM);
      raise(SIGTERM);
      return stop_signal();
    });
    if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(100)) {
      continue;  // a machine that slow may have put the two so far apart that they are two requests
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), SIGTERM);
    return;
  }
}

TEST(StopSignals, ALaterSecondSignalEndsTheProcess) {
  const int status = status_of_child([] {
    install_stop_signals();
    raise(SIGTERM);
    for (;;) {  // until enough time has passed for it to be another request
      raise(SIGINT);
    }
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(StopSignals, AnIgnoredSignalStaysIgnored) {
  const int status = status_of_child([] {
    signal(SIGINT, SIG_IGN);
    install_stop_signals();
    raise(SIGINT);
    return stop_signal();
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SaveSignal, IsRememberedUntilForgottenHoweverOftenItComes) {
  const int status = status_of_child([] {
    install_stop_signals();
    const bool before = save_signal();
    raise(SIGUSR1);
    raise(SIGUSR1);
    const bool after = save_signal();
    forget_save_signal();
    return !before && after && !save_signal() && stop_signal() == 0 ? 0 : 1;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StopSignals, WaitWhileTheyAreHeldForAProcessThatCanHandleThem) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    const int status = status_of_child([&] {
      hold_signals();
      raise(signal);
      if (save_signal() || stop_signal() != 0) return 1;
      install_stop_signals();
      return signal == SIGUSR1 ? (save_signal() ? 0 : 2) : stop_signal() == signal ? 0 : 3;
    });
    ASSERT_TRUE(WIFEXITED(status)) << "it ended the process";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(StopSignals, EndTheProcessOnceTheyAreNoLongerHeld) {
  const int status = status_of_child([] {
    hold_signals();
    raise(SIGTERM);
    release_signals();
    return 1;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(StopDeadline, CallsWhenTheGraceIsOverAndNotWhereTheWorkWasDone) {
  const int status = status_of_child([] {
    install_stop_signals();
    {
      const StopDeadline never_asked(std::chrono::milliseconds(0), [] { _exit(1); });
    }
    raise(SIGTERM);
    {
      const StopDeadline in_time(std::chrono::hours(1), [] { _exit(2); });
    }
    std::promise<void> called;
    const StopDeadline late(std::chrono::milliseconds(0), [&] { called.set_value(); });
    raise(SIGTERM);
    called.get_future().wait();
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace samegrad
