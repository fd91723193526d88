#include "samegrad/base/nearest_name.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace samegrad {
namespace {

const std::vector<std::string> kCommands = {"train", "evaluate", "env", "plot", "checkpoints", "clean"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("trian", "train"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // where swapped letters may not be edited again
}

TEST(EditDistance, IsSymmetricZeroOnlyForEqualsAndAtMostTheLongerLength) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    const std::size_t distance = edit_distance(a, b);
    RC_ASSERT(distance == edit_distance(b, a));
    RC_ASSERT((distance == 0) == (a == b));
    RC_ASSERT(distance <= std::max(a.size(), b.size()));
  }));
}

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("trian", kCommands), "train");
  EXPECT_EQ(nearest_name("checkpoint", kCommands), "checkpoints");
  EXPECT_EQ(nearest_name("evalute", kCommands), "evaluate");
  EXPECT_EQ(suggestion("cleen", kCommands), ", did you mean 'clean'?");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("launch", kCommands), std::nullopt);
  EXPECT_EQ(nearest_name("xyz", kCommands), std::nullopt);
  EXPECT_EQ(nearest_name("", kCommands), std::nullopt);
  EXPECT_EQ(nearest_name("train", {}), std::nullopt);
  EXPECT_EQ(suggestion("launch", kCommands), "");
}

}  // namespace
}  // namespace samegrad
