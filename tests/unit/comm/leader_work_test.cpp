#include "samegrad/comm/leader_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "samegrad/base/error.h"
#include "samegrad/comm/single_communicator.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::nothing_thrown;
using testing::run_ranks;

constexpr milliseconds kTimeout{400};
constexpr CallLabel kLabel{"reference", 1, kTimeout};

void work_for(milliseconds time) {
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
  }
}

TEST(LeaderWork, TheOthersWaitForRankZeroMuchLongerThanOneWaitMayLast) {
  for (const int ranks : {1, 2, 3}) {
    std::atomic<int> ended_before_rank_0 = 0;
    std::atomic<bool> ended = false;
    const auto errors = run_ranks(ranks, [&](Communicator& comm) {
      leader_works(comm, kLabel, [&] {
        if (comm.rank() != 0) return;
        work_for(2 * kTimeout);
        ended = true;
      });
      if (!ended) ++ended_before_rank_0;
      comm.barrier(kLabel);
    });
    EXPECT_EQ(errors, nothing_thrown(ranks));
    EXPECT_EQ(ended_before_rank_0, 0);
  }
}

TEST(LeaderWork, OfARankZeroThatHangsInItsWorkNoSignIsGiven) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    leader_works(comm, kLabel, [&] {
      if (comm.rank() == 0) std::this_thread::sleep_for(3 * kTimeout);
    });
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 0")));
  EXPECT_THAT(errors[1], HasSubstr("did not come to 'reference' of update 1 within 0.4 s"));
}

// The control: as it was, in an ordinary call.
TEST(LeaderWork, WithoutItsSignsTheOthersGiveUp) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 0) work_for(2 * kTimeout);
    comm.barrier(kLabel);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 0")));
  EXPECT_THAT(errors[1], HasSubstr("did not come to 'reference' of update 1 within 0.4 s"));
}

TEST(LeaderWork, WhatAWorkThrowsComesOutWhereItWasThrownAndTheRanksStayTogether) {
  for (const int failing : {0, 1}) {
    const auto errors = run_ranks(3, [&](Communicator& comm) {
      std::string caught;
      try {
        leader_works(comm, kLabel, [&] {
          if (comm.rank() == failing) throw RunError("reference", "no memory");
        });
      } catch (const RunError& error) {
        caught = error.what();
      }
      EXPECT_EQ(caught, comm.rank() == failing ? "[reference] no memory" : "");
      comm.barrier(kLabel);
    });
    EXPECT_EQ(errors, nothing_thrown(3));
  }
}

TEST(LeaderWork, ARankThatLeavesIsNamedByRankZeroAtTheEndOfItsWork) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 1) return comm.leave("it had enough");
    leader_works(comm, kLabel, [] { work_for(kTimeout); });
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1"));
  EXPECT_THAT(errors[0], HasSubstr("it had enough"));
}

}  // namespace
}  // namespace samegrad
