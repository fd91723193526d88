#include "samegrad/base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

class RegularFileTest : public TemporaryFolder {
 protected:
  template <typename Open>
  static std::string refusal(const Open& open) {
    try {
      open();
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    std::filesystem::path path = folder_ / name;
    std::ofstream(path) << bytes;
    return path;
  }
};

TEST_F(RegularFileTest, IsReadThroughALinkToo) {
  const std::filesystem::path file = put("file", "abc");
  std::filesystem::create_symlink(file, folder_ / "link");
  for (const char* name : {"file", "link"}) {
    const RegularFile opened = open_regular_file(folder_ / name, "data");
    std::array<char, 8> bytes{};
    EXPECT_EQ(opened.bytes, 3);
    EXPECT_EQ(::read(opened.descriptor, bytes.data(), bytes.size()), 3);
    close(opened.descriptor);
  }
}

TEST_F(RegularFileTest, NothingElseIsReadNorWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder_ / "loop");
  const auto read_of = [&](const std::filesystem::path& path) {
    return refusal([&] { open_regular_file(path, "data"); });
  };
  EXPECT_NE(read_of(folder_ / "pipe").find("is a pipe (FIFO); a regular file is needed"), std::string::npos);
  EXPECT_NE(read_of(folder_).find("is a folder"), std::string::npos);
  EXPECT_NE(read_of("/dev/zero").find("is a device"), std::string::npos);
  EXPECT_NE(read_of(folder_ / "loop").find("cannot be opened: Too many levels"), std::string::npos);
  EXPECT_NE(read_of(folder_ / "none").find("cannot be opened: No such file"), std::string::npos);
}

TEST_F(RegularFileTest, ANameWithANulIsNotTheFileBeforeIt) {
  const std::string path = put("file", "abc").string();
  EXPECT_EQ(refusal([&] { open_regular_file(path + std::string("\0x", 2), "data"); }),
            "[data] " + path + "\\0...: a file's name cannot hold a NUL byte");
}

TEST_F(RegularFileTest, AppendingMakesAFileAndGoesOnInIt) {
  for (const char* text : {"a", "b"}) {
    const int descriptor = open_for_appending(folder_ / "log", "run");
    EXPECT_EQ(::write(descriptor, text, 1), 1);
    close(descriptor);
  }
  std::string found;
  std::ifstream(folder_ / "log") >> found;
  EXPECT_EQ(found, "ab");
}

TEST_F(RegularFileTest, NothingIsAppendedThroughALinkOrToAPipe) {
  std::filesystem::create_symlink(put("outside", "mine"), folder_ / "link");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const auto append_to = [&](const char* name) { return refusal([&] { open_for_appending(folder_ / name, "run"); }); };
  EXPECT_NE(append_to("link").find("is a link; a run writes to regular files of its own"), std::string::npos);
  EXPECT_NE(append_to("dangling").find("is a link"), std::string::npos);
  EXPECT_NE(append_to("pipe").find("is a pipe"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nowhere"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "outside"), 4);
  EXPECT_THROW(open_for_appending(folder_ / "none" / "log", "run"), RunError);
}

}  // namespace
}  // namespace samegrad
