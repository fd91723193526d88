#include "samegrad/comm/init.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "samegrad/base/error.h"
#include "samegrad/comm/join.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using InitTest = TemporaryFolder;

std::string refusal(const InitOptions& options) {
  try {
    init(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Init, WithoutALauncherIsOneProcessInOneThread) {
  const World world = init();
  EXPECT_EQ(world.rank(), 0);
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.backend(), "single");
  EXPECT_EQ(at::get_num_threads(), 1);
  EXPECT_STREQ(std::getenv("MKL_CBWR"), "AUTO");
  EXPECT_TRUE(world.any(true));
  EXPECT_FALSE(world.any(false));
}

TEST(Init, AnExplicitPlaceOfOneIsOneProcess) {
  EXPECT_EQ(init({.rank = 0, .world_size = 1}).size(), 1);
  EXPECT_EQ(init({.rank = 0, .world_size = 1, .timeout = std::chrono::seconds(5)}).timeout(), std::chrono::seconds(5));
}

TEST(Init, RefusesHalfAPlaceAndSaysWhatIsAllowed) {
  EXPECT_THAT(refusal({.rank = 0}), HasSubstr("[init] rank without world_size: give all three, or none"));
  EXPECT_THAT(refusal({.world_size = 2}), HasSubstr("world_size without rank"));
  EXPECT_THAT(refusal({.rendezvous = "host:1"}), HasSubstr("rendezvous without rank and world_size"));
  EXPECT_THAT(refusal({.rank = 2, .world_size = 2, .rendezvous = "host:1"}),
              HasSubstr("rank: 2 with world_size: 2; allowed are ranks 0 to world_size - 1, and 1 to 256"));
  EXPECT_THAT(refusal({.rank = -1, .world_size = 2, .rendezvous = "host:1"}), HasSubstr("rank: -1"));
  EXPECT_THAT(refusal({.backend = "nccl"}), HasSubstr("backend: 'nccl' is not built; allowed are auto, shm and gloo"));
}

TEST(Init, RefusesARendezvousThatIsNone) {
  for (const char* text : {"", "host", "host:", "host:0", "host:65536", "host:1x", ":29500", "tcp://", "tcp://host",
                           "http://host:1", "file://", "file:///", "file://relative/path"}) {
    EXPECT_THAT(refusal({.rank = 0, .world_size = 2, .rendezvous = text}),
                HasSubstr(std::string("rendezvous: '") + text + "'; allowed are tcp://HOST:PORT"))
        << text;
  }
}

TEST(Init, RefusesABackendByTheNameThatAProgramOrAConfigurationGivesIt) {
  const WorkerEnvironment place{.rank = 0, .world_size = 2, .shared_memory_fd = 3};
  const auto refused = [&](const auto&... option) -> std::string {
    try {
      join_ranks(place, "gloo", std::chrono::minutes(30), option...);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused(), StartsWith("[launch] run.backend: 'gloo' with SAMEGRAD_SHM_FD=3: "));
  EXPECT_THAT(refused("InitOptions::backend"), StartsWith("[launch] InitOptions::backend: 'gloo' with "));
}

TEST_F(InitTest, ARankThatDoesNotComeToTheFileIsNamedAndTheFileGoes) {
  const std::filesystem::path path = folder_ / "meeting";
  try {
    init({.rank = 0,
          .world_size = 2,
          .rendezvous = "file://" + path.string(),
          .timeout = std::chrono::milliseconds(50)});
    FAIL() << "joined alone";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.culprit_rank(), 1);
    EXPECT_THAT(error.what(), HasSubstr("InitOptions::timeout"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace samegrad
