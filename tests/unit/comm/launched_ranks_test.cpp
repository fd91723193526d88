#include "samegrad/comm/launched_ranks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/environment.h"

namespace samegrad {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;

TEST(LaunchedRanks, WhoWaitsForARankThatEndedBeforeItCameIsToldWhy) {
  const int fd = create_shared_memory(2);
  LaunchedRanks ranks(fd, true, 2);
  EXPECT_FALSE(ranks.any_has_joined());
  EXPECT_TRUE(ranks.tell_of_end(1, 4321, "its process ended with exit code 0"));
  try {
    join_shared_memory(fd, 0, 2, minutes(10));  // would wait that long
    FAIL() << "joined alone";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.culprit_rank(), 1);
    EXPECT_THAT(error.what(), HasSubstr("rank 1 (pid 4321) failed before 'join': its process ended with exit code 0"));
  }
  EXPECT_TRUE(ranks.has_joined(0));
  ASSERT_TRUE(ranks.story());
  EXPECT_EQ(ranks.story()->culprit_rank, 1);
  EXPECT_THAT(ranks.story()->text, HasSubstr("its process ended with exit code 0"));
}

TEST(LaunchedRanks, OneThatHasComeIsLeftAsItIs) {
  const int fd = create_shared_memory(1);
  LaunchedRanks ranks(fd, true, 1);
  const auto communicator = join_shared_memory(fd, 0, 1, minutes(1));
  EXPECT_TRUE(ranks.has_joined(0));
  ranks.tell_of_end(0, 1, "no");
  communicator->barrier({"still", 0, minutes(1)});
}

/// As c10d's FileStore writes.
void note(int fd, const std::string& key, const std::string& value) {
  for (const std::string& text : {key, value}) {
    const std::uint32_t length = text.size();
    ASSERT_EQ(write(fd, &length, sizeof(length)), static_cast<ssize_t>(sizeof(length)));
    ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
}

TEST(LaunchedRanks, AStoreFileTellsByItsNotesWhoHasCome) {
  const int fd = create_store_file();
  LaunchedRanks ranks(fd, false, 12);
  EXPECT_FALSE(ranks.any_has_joined());
  note(fd, "/samegrad/rank/1", "/samegrad/rank/0");
  EXPECT_TRUE(ranks.has_joined(1));
  EXPECT_FALSE(ranks.has_joined(0));
  EXPECT_FALSE(ranks.has_joined(11));
  note(fd, "/samegrad/rank/11", "");
  EXPECT_TRUE(ranks.has_joined(11));
  EXPECT_FALSE(ranks.tell_of_end(0, 1, "no"));  // nobody can be told so
  EXPECT_FALSE(ranks.story());
  note(fd, "/samegrad/story", "3\nrank 3 died");
  EXPECT_EQ(ranks.story()->culprit_rank, 3);
  EXPECT_EQ(ranks.story()->text, "rank 3 died");
  const std::uint32_t hostile = ~std::uint32_t{0};
  ASSERT_EQ(write(fd, &hostile, sizeof(hostile)), static_cast<ssize_t>(sizeof(hostile)));
  EXPECT_FALSE(ranks.has_joined(0));
  close(fd);
}

}  // namespace
}  // namespace samegrad
