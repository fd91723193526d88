#include "samegrad/base/stopped_time.h"

#include <gtest/gtest.h>

#include <chrono>

#include "samegrad/base/deadline.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void until_the_clock_has_gone_on(milliseconds by) {
  for (const auto end = steady_clock::now() + by; steady_clock::now() < end;) {
  }
}

TEST(StoppedTime, NoDeadlinePassesWhileAllIsStoppedAndEachHasAsMuchLeftAfterwards) {
  stop_begins();
  const Deadline deadline(milliseconds{3});
  const milliseconds left = deadline.left();
  until_the_clock_has_gone_on(milliseconds{6});
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(deadline.left(), left);
  stop_begins();  // a second signal to stop changes nothing
  const auto before = running_now();
  stop_ends();
  EXPECT_GE(running_now(), before);
  EXPECT_GE(steady_clock::now() - running_now(), milliseconds{6});
  while (!deadline.passed()) {
  }
  EXPECT_EQ(deadline.left(), milliseconds{0});
}

TEST(StoppedTime, WithoutAStopItIsTheClock) {
  const auto stopped_before = steady_clock::now() - running_now();
  stop_ends();
  until_the_clock_has_gone_on(milliseconds{2});
  EXPECT_LT(steady_clock::now() - running_now(), stopped_before + milliseconds{2});
}

}  // namespace
}  // namespace samegrad
