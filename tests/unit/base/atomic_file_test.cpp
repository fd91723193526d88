#include "samegrad/base/atomic_file.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "samegrad/base/error.h"
#include "samegrad/base/temporary_name.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public TemporaryFolder {
 protected:
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}); }
  static std::string failure(const fs::path& path, std::string_view bytes) {
    try {
      write_file_atomically(path, bytes);
    } catch (const RunError& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing failed";
    return "";
  }
};

/// No file of this process may grow past `bytes`; writes beyond fail with EFBIG instead of a signal.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit lower{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST_F(AtomicFile, WritesTheBytesAndNothingElse) {
  const std::string bytes("a\0b\n", 4);
  write_file_atomically(folder_ / "file", bytes);
  EXPECT_EQ(content(folder_ / "file"), bytes);
  write_file_atomically(folder_ / "file", "");
  EXPECT_EQ(content(folder_ / "file"), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, CreatesMissingFolders) {
  write_file_atomically(folder_ / "a" / "b" / "file", "x");
  EXPECT_EQ(content(folder_ / "a" / "b" / "file"), "x");
}

TEST_F(AtomicFile, OverwritesWhatAKilledProcessWithTheSameIdLeft) {
  write(temporary_path(folder_ / "file"), "much longer than the new content");
  write_file_atomically(folder_ / "file", "new");
  EXPECT_EQ(content(folder_ / "file"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, AFailedWriteKeepsTheOldFileAndNamesEverything) {
  write_file_atomically(folder_ / "file", "old");
  std::string message;
  {
    const FileSizeLimit limit(1000);
    message = failure(folder_ / "file", std::string(5000, 'x'));
  }
  EXPECT_TRUE(message.starts_with("[write] " + (folder_ / "file").string() +
                                  ": writing: File too large; needs 5000 "
                                  "bytes, "))
      << message;
  EXPECT_TRUE(message.ends_with(" bytes are free there")) << message;
  EXPECT_EQ(content(folder_ / "file"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFile, DoesNotFollowALinkThatLiesWhereTheTemporaryFileGoes) {
  fs::create_symlink(folder_ / "victim", temporary_path(folder_ / "file"));
  write_file_atomically(folder_ / "file", "x");
  EXPECT_FALSE(fs::exists(folder_ / "victim"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "file")));
}

TEST_F(AtomicFile, RefusesAFolderInTheWay) {
  fs::create_directories(folder_ / "file");
  EXPECT_NE(failure(folder_ / "file", "x").find("renaming: Is a directory"), std::string::npos);
  EXPECT_EQ(entries(), 1);
  write(folder_ / "plain", "");
  EXPECT_NE(failure(folder_ / "plain" / "below", "x").find("creating the folder: Not a directory"), std::string::npos);
}

TEST_F(AtomicFile, FsyncOfAMissingFolderFails) { EXPECT_THROW(fsync_folder(folder_ / "none"), RunError); }

}  // namespace
}  // namespace samegrad
