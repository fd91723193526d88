// A window built ahead: by whom, when it is told that it cannot be built, and what is left behind.
#include "samegrad/train/window_ahead.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cfenv>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

BuiltWindow window_of(std::int64_t update) { return {.plan = {.update = update, .atoms = {}}, .batches = {}}; }

TEST(WindowAhead, IsBuiltOnceByAnotherThreadAndAnyOtherByTheOneThatTakesIt) {
  struct Call {
    std::int64_t update;
    bool here;
    bool operator==(const Call&) const = default;
  };
  std::vector<Call> calls;
  const std::thread::id here = std::this_thread::get_id();
  WindowAhead windows([&](std::int64_t update) {
    calls.push_back({update, std::this_thread::get_id() == here});
    return window_of(update);
  });
  EXPECT_EQ(windows.take(1).plan.update, 1);
  windows.start(2);
  EXPECT_EQ(windows.take(2).plan.update, 2);
  EXPECT_EQ(windows.take(3).plan.update, 3);
  EXPECT_EQ(calls, (std::vector<Call>{{1, true}, {2, false}, {3, true}}));
}

TEST(WindowAhead, OfAnUpdateThatIsNotTheOneWantedIsDropped) {
  std::vector<std::int64_t> calls;
  WindowAhead windows([&](std::int64_t update) {
    calls.push_back(update);
    return window_of(update);
  });
  windows.start(3);
  EXPECT_EQ(windows.take(2).plan.update, 2);
  EXPECT_EQ(windows.take(3).plan.update, 3);
  EXPECT_EQ(calls, (std::vector<std::int64_t>{3, 2, 3}));
}

TEST(WindowAhead, ThatCannotBeBuiltThrowsTheSameWhenItIsTakenAndNotBefore) {
  WindowAhead windows([](std::int64_t update) -> BuiltWindow {
    throw InputError("data", "x.jsonl:" + std::to_string(update) + ": is gone");
  });
  windows.start(7);
  try {
    windows.take(7);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "[data] x.jsonl:7: is gone");
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
  }
  windows.start(8);  // and nobody takes it
}

TEST(WindowAhead, ItsThreadTakesNoSignalsButThoseOfItsOwnFaults) {
  sigset_t seen{};
  WindowAhead windows([&](std::int64_t update) {
    pthread_sigmask(SIG_SETMASK, nullptr, &seen);
    return window_of(update);
  });
  sigset_t before{};
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  windows.start(1);
  sigset_t after{};
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  windows.take(1);
  for (const int other : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD}) EXPECT_EQ(sigismember(&seen, other), 1) << other;
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) EXPECT_EQ(sigismember(&seen, own), 0) << own;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

// Weights of samples are doubles: their sums must have the bits that the other thread would give them.
TEST(WindowAhead, ItsThreadRoundsAsTheOneThatStartedIt) {
  int rounding = -1;
  WindowAhead windows([&](std::int64_t update) {
    rounding = std::fegetround();
    return window_of(update);
  });
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  windows.start(1);
  std::fesetround(before);
  windows.take(1);
  EXPECT_EQ(rounding, FE_UPWARD);
}

TEST(WindowAhead, WhoseReadHangsKeepsNobodyFromLeaving) {
  auto answer = std::make_shared<std::promise<void>>();
  auto source = std::make_shared<int>(5);
  std::promise<int> read;
  {
    WindowAhead windows([answer, source, &read](std::int64_t update) {
      answer->get_future().wait();
      read.set_value(*source);
      return window_of(update);
    });
    windows.start(1);
    source.reset();
  }  // with the thread still in it
  answer->set_value();
  EXPECT_EQ(read.get_future().get(), 5);
}

}  // namespace
}  // namespace samegrad
