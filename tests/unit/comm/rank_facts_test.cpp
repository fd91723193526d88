#include "samegrad/comm/rank_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;

RankFacts rank_on(const std::string& host, const std::string& own, const std::string& other) {
  return {host, host + "-name", 1, 1, {own, other}};
}

TEST(RankFacts, OfThisProcessAreTheSameEveryTimeAndSurviveTheirLine) {
  RankFacts mine = facts_of_this_process();
  EXPECT_EQ(mine.pid, getpid());
  EXPECT_EQ(facts_of_this_process(), mine);
  mine.route = {"10.0.0.1", "10.0.0.2"};
  const RankFacts read = rank_facts_from_line(rank_facts_to_line(mine));
  EXPECT_EQ(read, mine);
  EXPECT_EQ(read.route.own, "10.0.0.1");
  EXPECT_EQ(read.route.other, "10.0.0.2");
  EXPECT_EQ(read.host_name, mine.host_name);
}

TEST(RankFacts, ALineOfAnotherVersionIsRefused) {
  for (const char* line : {"", "x", "[]", R"({"host": 1})"}) {
    EXPECT_THROW(rank_facts_from_line(line), RunError) << line;
  }
}

TEST(RankFacts, TheRouteToLoopbackIsLoopbackAndANameWithoutAnAddressIsRefused) {
  EXPECT_EQ(route_to("127.0.0.1", 29'500).own, "127.0.0.1");
  EXPECT_EQ(route_to("127.0.0.1", 29'500).other, "127.0.0.1");
  try {
    route_to("no-such-host.invalid", 29'500);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("MASTER_ADDR=no-such-host.invalid: "));
  }
}

TEST(RankFacts, OnOneHostRanksAreReachedThroughLoopback) {
  const std::vector<RankFacts> ranks{rank_on("a", "10.0.0.1", "10.0.0.1"), rank_on("a", "10.0.0.1", "10.0.0.1")};
  EXPECT_TRUE(on_one_host(ranks));
  EXPECT_EQ(reachable_address(ranks, 1), "127.0.0.1");
}

TEST(RankFacts, BetweenHostsTheEndOfTheRouteCountsAndLoopbackIsReplacedByWhatOthersUse) {
  const std::vector<RankFacts> ranks{rank_on("a", "127.0.0.1", "127.0.1.1"), rank_on("a", "10.0.0.1", "10.0.0.1"),
                                     rank_on("b", "10.0.0.2", "10.0.0.1")};
  EXPECT_EQ(count_hosts(ranks), 2);
  EXPECT_EQ(reachable_address(ranks, 0), "10.0.0.1");
  EXPECT_EQ(reachable_address(ranks, 1), "10.0.0.1");
  EXPECT_EQ(reachable_address(ranks, 2), "10.0.0.2");
}

TEST(RankFacts, AHostThatOthersCannotReachIsRefused) {
  const std::vector<RankFacts> ranks{rank_on("a", "127.0.0.1", "127.0.0.1"), rank_on("b", "127.0.0.1", "127.0.0.1")};
  EXPECT_THROW(reachable_address(ranks, 0), RunError);
}

}  // namespace
}  // namespace samegrad
