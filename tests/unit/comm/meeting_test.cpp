// Ranks that are threads meet in a store that is a map.
#include "samegrad/comm/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "samegrad/base/error.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/rank_end.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::HasSubstr;

class MapStore final : public RendezvousStore {
 public:
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }

  std::optional<std::string> get(const std::string& key, milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return values_.contains(key); });
    return values_.contains(key) ? std::optional(values_[key]) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

void on_all_ranks(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, rank] { body(rank); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

RankFacts facts_of(int rank) {
  RankFacts facts = facts_of_this_process();
  facts.start_time += static_cast<std::uint64_t>(rank);
  return facts;
}

TEST(Meeting, EveryRankLearnsWhereAllRun) {
  MapStore store;
  on_all_ranks(3, [&](int rank) {
    const std::vector<RankFacts> ranks = Meeting(store, rank, 3, minutes(1)).exchange_facts(facts_of(rank));
    EXPECT_EQ(ranks, (std::vector<RankFacts>{facts_of(0), facts_of(1), facts_of(2)}));
  });
}

TEST(Meeting, RanksOfOneHostShareTheMemoryThatRankZeroMakes) {
  MapStore store;
  on_all_ranks(3, [&](int rank) {
    Meeting meeting(store, rank, 3, minutes(1));
    const Meeting::SharedMemory memory = meeting.share_memory(meeting.exchange_facts(facts_of(rank)));
    ASSERT_TRUE(memory.communicator) << memory.reason;
    EXPECT_EQ(memory.communicator->backend(), "shm");
    EXPECT_EQ(memory.communicator->size(), 3);
    memory.communicator->barrier({"end", 0, minutes(1)});
  });
}

// Rank 1 looks for the memory in a process that does not exist.
TEST(Meeting, WhereOneRankDoesNotReachTheMemoryNoneUsesItAndAllKnowWhy) {
  MapStore store;
  on_all_ranks(3, [&](int rank) {
    Meeting meeting(store, rank, 3, minutes(1));
    std::vector<RankFacts> ranks = meeting.exchange_facts(facts_of(rank));
    if (rank == 1) {
      ranks[0].pid = 1 << 30;
    }
    const Meeting::SharedMemory memory = meeting.share_memory(ranks);
    EXPECT_FALSE(memory.communicator);
    EXPECT_THAT(memory.reason, HasSubstr("/proc/1073741824/fd/"));
    EXPECT_THAT(memory.reason, HasSubstr("No such file"));
  });
}

TEST(Meeting, ARankThatDoesNotComeIsNamed) {
  MapStore store;
  Meeting meeting(store, 0, 2, milliseconds(50));
  EXPECT_THAT(failure_of([&] { meeting.exchange_facts(facts_of(0)); }),
              HasSubstr("rank 1 did not come to 'join' within 0.05 s: it has not joined"));
}

TEST(Meeting, WhereARankHasToldWhyItFailedNobodyWaitsOn) {
  MapStore store;
  store.set(kStoryKey, story_to_text({2, "rank 2 failed"}));
  Meeting meeting(store, 0, 3, minutes(10));
  try {
    meeting.exchange_facts(facts_of(0));
    FAIL() << "it waited for nobody";
  } catch (const PeerError& error) {
    EXPECT_STREQ(error.what(), "[launch] rank 2 failed");
    EXPECT_EQ(error.culprit_rank(), 2);
  }
}

TEST(Meeting, ASecondProcessOfTheSameRankIsRefused) {
  class OverwrittenStore final : public RendezvousStore {
   public:
    void set(const std::string&, const std::string&) override {}
    std::optional<std::string> get(const std::string&, milliseconds) override {
      return rank_facts_to_line(facts_of(7));
    }
  } store;
  Meeting meeting(store, 0, 1, minutes(1));
  EXPECT_THAT(failure_of([&] { meeting.exchange_facts(facts_of(0)); }),
              HasSubstr("rank 0 has joined this run already (pid " + std::to_string(getpid())));
}

}  // namespace
}  // namespace samegrad
