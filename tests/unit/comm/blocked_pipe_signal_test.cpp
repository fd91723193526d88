#include "samegrad/comm/blocked_pipe_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace samegrad {
namespace {

/// errno after writing to a pipe that nobody reads.
int write_to_closed_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return 0;
  }
  close(ends[0]);
  const ssize_t written = write(ends[1], "x", 1);
  const int error = written < 0 ? errno : 0;
  close(ends[1]);
  return error;
}

TEST(BlockedPipeSignal, AWriteToAClosedPipeFailsAndThePipesSignalIsGoneAfterwards) {
  {
    const BlockedPipeSignal blocked;
    EXPECT_EQ(write_to_closed_pipe(), EPIPE);
    std::thread([] { EXPECT_EQ(write_to_closed_pipe(), EPIPE); }).join();
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGPIPE), 0);
}

TEST(BlockedPipeSignalDeathTest, WithoutItTheSameWriteEndsTheProcess) {
  EXPECT_EXIT(
      {
        { const BlockedPipeSignal blocked; }
        write_to_closed_pipe();
        _exit(0);
      },
      ::testing::KilledBySignal(SIGPIPE), "");
}

}  // namespace
}  // namespace samegrad
