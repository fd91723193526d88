#include "samegrad/plan/python_random.h"

#include <gtest/gtest.h>

#include "samegrad/base/check.h"

namespace samegrad {
namespace {

// mt19937ar.out, the reference program's own output for init_by_array({0x123, 0x234, 0x345, 0x456}).
TEST(PythonRandom, SeedingByWordsGivesTheReferenceProgramsNumbers) {
  const std::array<std::uint32_t, 4> key{0x123, 0x234, 0x345, 0x456};
  PythonRandom random{std::span<const std::uint32_t>(key)};
  for (const std::uint64_t expected : {1067595299U, 955945823U, 477289528U, 4107218783U, 4228976476U}) {
    EXPECT_EQ(random.getrandbits(32), expected);
  }
}

TEST(PythonRandom, NegativeSeedsAreTheirAbsoluteValues) {
  PythonRandom negative(-12345);
  PythonRandom positive(12345);
  EXPECT_EQ(negative.getrandbits(64), positive.getrandbits(64));
}

TEST(PythonRandom, DrawsThatDoNotExistBreakAnInvariant) {
  PythonRandom random(std::int64_t{1});
  EXPECT_THROW(random.getrandbits(65), InvariantError);
  EXPECT_THROW(random.getrandbits(-1), InvariantError);
  EXPECT_THROW(random.randbelow(0), InvariantError);
  EXPECT_THROW(random.sample(3, 4), InvariantError);
  EXPECT_THROW(random.sample(3, -1), InvariantError);
}

// 21 + 4 ** ceil(log(3 * count, 4)) by hand: 3 * 6 = 18 -> 64; 3 * 21 = 63 -> 64; 3 * 22 = 66 -> 256; 3 * 85 = 255.
TEST(PythonRandom, PoolLimitJumpsWhereThreeTimesTheCountPassesAPowerOfFour) {
  EXPECT_EQ(python_sample_pool_limit(0), 21);
  EXPECT_EQ(python_sample_pool_limit(5), 21);
  EXPECT_EQ(python_sample_pool_limit(6), 21 + 64);
  EXPECT_EQ(python_sample_pool_limit(21), 21 + 64);
  EXPECT_EQ(python_sample_pool_limit(22), 21 + 256);
  EXPECT_EQ(python_sample_pool_limit(85), 21 + 256);
  EXPECT_EQ(python_sample_pool_limit(86), 21 + 1024);
}

}  // namespace
}  // namespace samegrad
