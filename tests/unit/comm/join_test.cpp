// Rank 0 keeps the store in which the ranks meet, and it goes with rank 0. The test plays rank 1.
#include "samegrad/comm/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/peer_story.h"
#include "samegrad/comm/rank_end.h"
#include "samegrad/comm/rank_facts.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), bytes), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  close(fd);
  return ntohs(address.sin_port);
}

LauncherStore place_at(int port) { return {"127.0.0.1", port, /*kept_by_launcher=*/false, "test"}; }

/// What join_ranks throws on rank 0 of `ranks`, and whether `others_know` was set before it did.
struct Refusal {
  std::string text;
  bool others_knew = false;
};

std::future<Refusal> join_as_rank_0(int port, int ranks, const std::string& backend, milliseconds timeout,
                                    const std::atomic<bool>& others_know) {
  return std::async(std::launch::async, [=, &others_know]() -> Refusal {
    WorkerEnvironment environment{.rank = 0, .world_size = ranks};
    environment.store = place_at(port);
    try {
      join_ranks(environment, backend, timeout, "run.backend");
    } catch (const std::exception& error) {
      return {error.what(), others_know};
    }
    return {};
  });
}

TEST(Join, RankZeroKeepsTheStoreUntilTheRanksThatCameKnowWhyItFailed) {
  const int port = free_port();
  std::atomic<bool> knows{false};
  std::future<Refusal> refused = join_as_rank_0(port, 2, "shm", minutes(1), knows);
  const auto store = open_launcher_store(place_at(port), 1, minutes(1));
  RankFacts facts = facts_of_this_process();
  facts.host = "another";
  store->set("rank/1", rank_facts_to_line(facts));

  ASSERT_TRUE(store->get(kStoryKey, minutes(1)));
  for (int look = 0; look < 20; ++look) {
    EXPECT_TRUE(store->get("rank/0", milliseconds(0)));
  }
  knows = true;
  store->set(end_key(1), std::string(kRankFailed));

  const Refusal refusal = refused.get();
  EXPECT_THAT(refusal.text, HasSubstr("run.backend: 'shm', but the ranks run on 2 hosts"));
  EXPECT_TRUE(refusal.others_knew);
}

TEST(Join, ARankThatNeverComesIsNamedByThoseThatWaitForItAndBlamedOnce) {
  const int port = free_port();
  std::atomic<bool> knows{false};
  // Rank 1 must come before rank 0 gives up, also on a busy machine; before the store is there, it tries again later.
  std::future<Refusal> refused = join_as_rank_0(port, 3, "auto", seconds(5), knows);
  const auto store = open_launcher_store(place_at(port), 1, minutes(1));
  store->set("rank/1", rank_facts_to_line(facts_of_this_process()));

  const PeerStory story = story_from_text(store->get(kStoryKey, minutes(1)).value());
  EXPECT_EQ(story.culprit_rank, 2);
  EXPECT_THAT(story.text, HasSubstr("rank 2 did not come to 'join'"));
  knows = true;
  store->set(end_key(1), std::string(kRankFailed));

  const Refusal refusal = refused.get();
  EXPECT_EQ(refusal.text, "[launch] " + story.text);
  EXPECT_TRUE(refusal.others_knew);
}

}  // namespace
}  // namespace samegrad
