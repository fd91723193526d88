// The exchange in place between real processes: one digest for every number of them, and what becomes of the others
// when one is killed in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/multiproc/launched.h"

namespace samegrad {
namespace {

using testing::launched;
using testing::text_of;

std::string digest_of(const std::string& mode, int world_size) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "samegrad_shm_exchange_digest";
  std::filesystem::remove(file);
  const LaunchResult result = launched(mode, world_size, file);
  EXPECT_EQ(result.exit_code, 0) << text_of(result);
  std::string digest;
  std::ifstream(file) >> digest;
  std::filesystem::remove(file);
  EXPECT_EQ(digest.size(), 32U);
  return digest;
}

TEST(ShmExchange, HasTheDigestOfOneProcessForEveryNumberOfProcesses) {
  std::set<std::string> digests{digest_of("reduction", 1)};
  for (const int world_size : {2, 3, 4, 5, 8}) digests.insert(digest_of("reduction-in-place", world_size));
  EXPECT_EQ(digests.size(), 1U);
}

// The workers' deadline is ten minutes, the test's limit two.
TEST(ShmExchange, APeerThatIsKilledInTheMiddleIsNamedAndItsMemoryHarmsNobody) {
  for (const int world_size : {2, 3}) {
    const LaunchResult result = launched("killed-in-exchange", world_size);
    EXPECT_EQ(result.exit_code, 137);
    ASSERT_EQ(result.lines.size(), 2U) << text_of(result);
    EXPECT_THAT(result.lines[0],
                ::testing::MatchesRegex(R"(\[launch\] rank 1 \(pid [0-9]+, signal 9 SIGKILL\) failed first: .*)"));
    EXPECT_THAT(
        result.lines[1],
        ::testing::MatchesRegex(
            R"(\[launch\] in consequence ranks? 0.*: \[comm\] rank 1 \(pid [0-9]+\) ended without leaving the run before 'gradient' of update 7: .*)"));
    EXPECT_THAT(result.lines[1], ::testing::Not(::testing::HasSubstr("ended by the launcher")));
  }
}

}  // namespace
}  // namespace samegrad
