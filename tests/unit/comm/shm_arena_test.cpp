// Memory that ranks share for gradients: who gets which block, and what an exchange in place does with it.
#include "samegrad/comm/shm_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "samegrad/base/error.h"
#include "samegrad/comm/shm_communicator.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::nothing_thrown;
using testing::run_ranks;

constexpr std::size_t kPage = 4096;

CallLabel label(std::chrono::milliseconds timeout = std::chrono::minutes(10)) { return {"gradient", 7, timeout}; }

std::shared_ptr<ShmArena> arena_of_pages(std::size_t pages) {
  return std::make_shared<ShmArena>(std::make_shared<ShmRegion>(ShmRegion::for_threads(2, 128, pages * kPage)), 1);
}

TEST(ShmArena, GivesBlocksThatDoNotOverlapAndWhatIsGivenBackAgain) {
  const auto arena = arena_of_pages(4);
  const auto first = arena->allocate(1);
  const auto second = arena->allocate(2 * kPage);
  EXPECT_EQ(arena->offset_of(first.get(), 1), 0U);
  EXPECT_EQ(arena->offset_of(second.get(), 2 * kPage), kPage);
  auto third = arena->allocate(kPage);
  EXPECT_EQ(arena->allocate(1), nullptr) << "it is full";
  const std::byte* const place = third.get();
  third.reset();
  EXPECT_EQ(arena->allocate(100).get(), place);
}

TEST(ShmArena, HasNoBlockForNothingOrForMoreThanItIs) {
  const auto arena = arena_of_pages(1);
  EXPECT_EQ(arena->allocate(0), nullptr);
  EXPECT_EQ(arena->allocate(kPage + 1), nullptr);
  EXPECT_NE(arena->allocate(kPage), nullptr);
  EXPECT_EQ(arena_of_pages(0)->allocate(1), nullptr);
}

TEST(ShmArena, DoesNotUseWhatIsGivenBackAfterItWasClosed) {
  const auto arena = arena_of_pages(3);
  auto first = arena->allocate(kPage);
  auto second = arena->allocate(kPage);
  first.reset();
  arena->close();
  second.reset();
  EXPECT_EQ(arena->offset_of(arena->allocate(kPage).get(), kPage), 2 * kPage);
  EXPECT_EQ(arena->allocate(kPage), nullptr);
}

TEST(ShmArena, KnowsNoPlaceOutsideOfItself) {
  const auto arena = arena_of_pages(1);
  const auto block = arena->allocate(kPage);
  const std::vector<std::byte> elsewhere(16);
  EXPECT_EQ(arena->offset_of(block.get() + 16, kPage), ShmArena::kElsewhere);
  EXPECT_EQ(arena->offset_of(elsewhere.data(), 1), ShmArena::kElsewhere);
  EXPECT_EQ(arena->offset_of(nullptr, 1), ShmArena::kElsewhere);
}

TEST(ShmArena, BlocksOutliveTheCommunicator) {
  std::shared_ptr<std::byte> kept;
  EXPECT_EQ(run_ranks(1, [&](Communicator& comm) { kept = gradient_memory_of(comm)->allocate(kPage); }),
            nothing_thrown(1));
  std::memset(kept.get(), 1, kPage);
}

std::size_t arena_bytes_under(int resource, rlim_t most) {
  rlimit before{};
  getrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &before);
  rlimit limited = before;
  limited.rlim_cur = most;
  setrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &limited);
  const int fd = create_region_file(2, 4'096);
  setrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &before);
  return ShmRegion::adopt_file(fd, 2).arena(1).size();
}

TEST(ShmRegion, HasNoArenasUnderALimitOnAddressesOrFilesAndElseRoomForLargeGradients) {
  EXPECT_EQ(arena_bytes_under(RLIMIT_AS, rlim_t{1} << 44), 0U);
  EXPECT_EQ(arena_bytes_under(RLIMIT_FSIZE, rlim_t{1} << 30), 0U);
  EXPECT_EQ(arena_bytes_under(RLIMIT_AS, RLIM_INFINITY), kArenaBytesOfAllRanks / 2) << "this test's own limits";
}

TEST(ExchangeInPlace, IsNoneOnAllRanksWhereTheRegionHasNoArenas) {
  const auto region = std::make_shared<ShmRegion>(ShmRegion::for_threads(1, 4'096, 0));
  ShmCommunicator comm(region, 0);
  EXPECT_EQ(gradient_memory_of(comm)->allocate(64), nullptr);
  std::vector<std::byte> own(64);
  EXPECT_FALSE(comm.exchange_in_place(
      {{own.data()}, own.data()}, 64, [](std::span<const ExchangedMemory>) {}, label()));
}

/// A part and a result of 8 bytes in shared memory.
struct Memory {
  explicit Memory(Communicator& comm) : block(gradient_memory_of(comm)->allocate(16)) {
    std::memset(block.get(), comm.rank() + 1, 16);
  }
  ExchangedMemory exchanged() const { return {{block.get(), nullptr}, block.get() + 8}; }

  std::shared_ptr<std::byte> block;
};

TEST(ExchangeInPlace, ShowsEveryRankAllPartsAndResultsAndEndsWhenAllHaveWorked) {
  for (const int world_size : {1, 2, 3, 5, 8}) {
    const auto errors = run_ranks(world_size, [&](Communicator& comm) {
      const Memory memory(comm);
      const auto work = [&](std::span<const ExchangedMemory> all) {
        ASSERT_EQ(all.size(), static_cast<std::size_t>(world_size));
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
          EXPECT_EQ(all[rank].parts[0][7], static_cast<std::byte>(rank + 1));
          EXPECT_EQ(all[rank].parts[1], nullptr);
          all[rank].result[comm.rank()] = static_cast<std::byte>(100 + comm.rank());
        }
      };
      EXPECT_TRUE(dynamic_cast<SharesGradientMemory&>(comm).exchange_in_place(memory.exchanged(), 8, work, label()));
      for (int rank = 0; rank < world_size; ++rank) {
        EXPECT_EQ(memory.block.get()[8 + rank], static_cast<std::byte>(100 + rank));
      }
    });
    EXPECT_EQ(errors, nothing_thrown(world_size));
  }
}

TEST(ExchangeInPlace, DoesNothingOnAllRanksWhereOneRanksMemoryIsElsewhere) {
  EXPECT_EQ(
      run_ranks(3,
                [](Communicator& comm) {
                  const Memory memory(comm);
                  std::vector<std::byte> own(8);
                  ExchangedMemory mine = memory.exchanged();
                  if (comm.rank() == 1) mine.result = own.data();
                  const auto work = [](std::span<const ExchangedMemory>) { FAIL() << "worked"; };
                  EXPECT_FALSE(dynamic_cast<SharesGradientMemory&>(comm).exchange_in_place(mine, 8, work, label()));
                  comm.barrier(label());  // calls go on after it
                }),
      nothing_thrown(3));
}

TEST(ExchangeInPlace, OfDifferentSizesIsRefusedOnAllRanksBeforeAnyWorks) {
  const auto errors = run_ranks(3, [](Communicator& comm) {
    const Memory memory(comm);
    const auto work = [](std::span<const ExchangedMemory>) { FAIL() << "worked"; };
    dynamic_cast<SharesGradientMemory&>(comm).exchange_in_place(memory.exchanged(), comm.rank() == 2 ? 4 : 8, work,
                                                                label());
  });
  EXPECT_THAT(errors, Each(HasSubstr("[comm] ranks do not call the same: rank ")));
  EXPECT_THAT(errors, Each(HasSubstr(", rank 2 calls reduce 'gradient' of update 7 (4 bytes")));
}

TEST(ExchangeInPlace, ARankThatFailsWhileItWorksIsNamedByTheOthers) {
  const auto errors = run_ranks(3, [](Communicator& comm) {
    const Memory memory(comm);
    const auto work = [&](std::span<const ExchangedMemory>) {
      if (comm.rank() == 1) throw RunError("train", "broke");
    };
    dynamic_cast<SharesGradientMemory&>(comm).exchange_in_place(memory.exchanged(), 8, work, label());
  });
  EXPECT_EQ(errors[1], "[train] broke");
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_THAT(errors[rank], HasSubstr("] rank 1 (pid "));
    EXPECT_THAT(errors[rank], HasSubstr("failed before 'gradient' of update 7: [train] broke"));
  }
}

}  // namespace
}  // namespace samegrad
