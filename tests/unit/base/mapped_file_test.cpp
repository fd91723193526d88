#include "samegrad/base/mapped_file.h"

#include <sys/stat.h>

#include <utility>

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

class MappedFileTest : public TemporaryFolder {
 protected:
  static std::string refused(const std::filesystem::path& path) {
    try {
      const MappedFile file(path, "data");
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }
};

TEST_F(MappedFileTest, ShowsTheBytesOfAFile) {
  const std::string bytes("line\n\0\xff", 7);
  write(folder_ / "file", bytes);
  EXPECT_EQ(MappedFile(folder_ / "file", "data").bytes(), bytes);
  write(folder_ / "empty", "");
  EXPECT_EQ(MappedFile(folder_ / "empty", "data").bytes(), "");
}

TEST_F(MappedFileTest, MovesWithItsMapping) {
  write(folder_ / "a", "first");
  write(folder_ / "b", "second");
  MappedFile a(folder_ / "a", "data");
  MappedFile b(folder_ / "b", "data");
  const MappedFile moved(std::move(a));
  EXPECT_EQ(moved.bytes(), "first");
  b = MappedFile(folder_ / "a", "data");
  EXPECT_EQ(b.bytes(), "first");
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const auto fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refused(fifo), "[data] " + fifo.string() + ": is a pipe (FIFO); a regular file is needed");
  EXPECT_NE(refused("/dev/null").find("is a device"), std::string::npos);
  EXPECT_NE(refused(folder_).find("is a folder"), std::string::npos);
  EXPECT_NE(refused(folder_ / "none").find("cannot be opened: No such file"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
