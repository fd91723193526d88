#include "samegrad/base/file_operations.h"

#include <cerrno>

#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

namespace fs = std::filesystem;

class FileOperationsTest : public TemporaryFolder {
 protected:
  FileOperations& files_ = real_files();
};

/// Counts the fsyncs of folders.
class CountingFiles : public FileOperations {
 public:
  int fsync_folder(const fs::path& folder) override {
    synced.push_back(folder);
    return FileOperations::fsync_folder(folder);
  }
  std::vector<fs::path> synced;
};

TEST_F(FileOperationsTest, ANewFileIsNeverOneThatIsThere) {
  write(folder_ / "file", "mine");
  fs::create_symlink(folder_ / "elsewhere", folder_ / "link");
  int descriptor = -1;
  EXPECT_EQ(files_.open_new(folder_ / "file", descriptor), EEXIST);
  EXPECT_EQ(files_.open_new(folder_ / "link", descriptor), EEXIST);
  EXPECT_EQ(content(folder_ / "file"), "mine");
  ASSERT_EQ(files_.open_new(folder_ / "new", descriptor), 0);
  EXPECT_EQ(files_.write(descriptor, "bytes"), 0);
  EXPECT_EQ(files_.fsync(descriptor), 0);
  EXPECT_EQ(files_.close(descriptor), 0);
  EXPECT_EQ(files_.close(descriptor), EBADF);
  EXPECT_EQ(content(folder_ / "new"), "bytes");
}

TEST_F(FileOperationsTest, FoldersChangePlacesInOneStep) {
  fs::create_directory(folder_ / "a");
  fs::create_directory(folder_ / "b");
  write(folder_ / "a" / "file", "of a");
  ASSERT_EQ(files_.exchange(folder_ / "a", folder_ / "b"), 0);
  EXPECT_EQ(content(folder_ / "b" / "file"), "of a");
  EXPECT_EQ(files_.exchange(folder_ / "a", folder_ / "none"), ENOENT);
}

TEST_F(FileOperationsTest, EveryNewFolderIsMadeKnownToItsParent) {
  CountingFiles files;
  ASSERT_EQ(make_folders(files, folder_ / "a" / "b" / "c"), 0);
  EXPECT_EQ(files.synced, (std::vector<fs::path>{folder_, folder_ / "a", folder_ / "a" / "b"}));
  ASSERT_EQ(make_folders(files, folder_ / "a" / "b" / "c"), 0);
  EXPECT_EQ(files.synced.size(), 3U);
  write(folder_ / "file", "x");
  EXPECT_EQ(make_folders(files, folder_ / "file"), ENOTDIR);
  EXPECT_EQ(make_folders(files, folder_ / "file" / "below"), ENOTDIR);
  EXPECT_EQ(make_folders(files, "/proc/none/below"), ENOENT);
}

TEST_F(FileOperationsTest, FoldersAboveAreSyncedFromTheNearestOne) {
  fs::create_directories(folder_ / "a" / "b");
  CountingFiles files;
  ASSERT_EQ(fsync_folders_above(files, folder_ / "a" / "b"), 0);
  ASSERT_GE(files.synced.size(), 2U);
  EXPECT_EQ(files.synced[0], folder_ / "a");
  EXPECT_EQ(files.synced[1], folder_);
}

TEST_F(FileOperationsTest, ARemovedTreeTakesLinksAndLeavesWhatTheyLeadTo) {
  const fs::path tree = folder_ / "tree";
  fs::create_directories(tree / "deep" / "deeper");
  fs::create_directory(folder_ / "kept");
  write(tree / "deep" / "file", "x");
  write(folder_ / "kept" / "file", "x");
  fs::create_directory_symlink(folder_ / "kept", tree / "link");
  EXPECT_EQ(remove_tree(files_, tree), 0);
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_EQ(content(folder_ / "kept" / "file"), "x");
  fs::create_directory_symlink(folder_ / "kept", tree);
  EXPECT_EQ(remove_tree(files_, tree), 0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(tree)));
  EXPECT_TRUE(fs::exists(folder_ / "kept"));
  EXPECT_EQ(remove_tree(files_, tree), 0) << "what is not there is removed";
}

TEST_F(FileOperationsTest, AListIsSortedAndHasHiddenNames) {
  for (const char* name : {"b", ".hidden", "a"}) write(folder_ / name, "");
  std::vector<std::string> names = {"from before"};
  ASSERT_EQ(files_.list(folder_, names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{".hidden", "a", "b"}));
  EXPECT_EQ(files_.list(folder_ / "none", names), ENOENT);
  EXPECT_EQ(files_.list(folder_ / "a", names), ENOTDIR);
}

}  // namespace
}  // namespace samegrad
