#include "samegrad/comm/store_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/comm/launcher_process.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;

using StoreFileTest = TemporaryFolder;

std::string refusal(const std::string& path) {
  try {
    const StoreFile file(path, false);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(StoreFileTest, IsItsOwnersOnlyAndRankZeroTakesTheNameAway) {
  const std::string path = (folder_ / "meeting").string();
  {
    StoreFile zero(path, true);
    StoreFile one(path, false);
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0600U);
    zero.remove_name();
    EXPECT_FALSE(std::filesystem::exists(path));
    write(path, "of the next meeting");
  }
  EXPECT_TRUE(std::filesystem::exists(path)) << "taken away once";
}

TEST_F(StoreFileTest, GoesWithRankZeroWhereTheMeetingFailed) {
  const std::string path = (folder_ / "meeting").string();
  { const StoreFile other(path, false); }
  EXPECT_TRUE(std::filesystem::exists(path));
  { const StoreFile zero(path, true); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StoreFileTest, RefusesWhatOthersCouldHavePutThere) {
  const std::string path = (folder_ / "meeting").string();
  write(path, "");
  chmod(path.c_str(), 0644);
  EXPECT_THAT(refusal(path), HasSubstr("only they can read and write"));
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder_ / "elsewhere", path);
  EXPECT_THAT(refusal(path), HasSubstr(path + ": the file where the ranks meet cannot be opened"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
  EXPECT_THAT(refusal("/nonexistent/meeting"), HasSubstr("No such file"));
}

TEST_F(StoreFileTest, LiesInMemoryOfThisHost) {
  EXPECT_EQ(store_file_folder(""), "/dev/shm");
  EXPECT_EQ(store_file_folder("/nonexistent"), "/dev/shm");
  EXPECT_EQ(store_file_folder(::testing::TempDir()), ::testing::TempDir());
}

TEST(LauncherProcess, IsTheNearestAncestorWithoutTheVariable) {
  EXPECT_EQ(launcher_process("SAMEGRAD_NOBODY_SETS_THIS").substr(0, std::to_string(getppid()).size()),
            std::to_string(getppid()));
  EXPECT_NE(launcher_process("PATH"), launcher_process("SAMEGRAD_NOBODY_SETS_THIS")) << "its environment has PATH";
}

}  // namespace
}  // namespace samegrad
