#include "samegrad/base/cut_file.h"

#include <signal.h>

#include <cstdio>

#include "samegrad/base/mapped_file.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

using CutFileTest = TemporaryFolder;

void tell(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

/// Reads the last byte of a mapped file that has become shorter.
void read_what_was_cut(const std::filesystem::path& path) {
  const MappedFile file(path, "data");
  std::filesystem::resize_file(path, 0);
  const volatile char* const last = &file.bytes().back();
  std::fprintf(stderr, "read %d\n", *last);
}

TEST_F(CutFileTest, IsNamedAndEndsTheProgramWithExitCode2) {
  const std::filesystem::path path = folder_ / "a b.jsonl";
  write(path, std::string(10'000, 'x'));
  EXPECT_EXIT(
      {
        tell_of_cut_files(tell);
        read_what_was_cut(path);
      },
      ::testing::ExitedWithCode(2), "\\[files\\] " + path.string() + ": cut while it was read");
}

TEST_F(CutFileTest, WithoutThatOrWithAnotherBusErrorTheSignalEndsIt) {
  const std::filesystem::path path = folder_ / "file";
  write(path, std::string(10'000, 'x'));
  EXPECT_EXIT(read_what_was_cut(path), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        tell_of_cut_files(tell);
        raise(SIGBUS);  // asked for by a person, not by memory
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace samegrad
