#include "samegrad/base/cut_file.h"

#include <signal.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "samegrad/base/blocked_signals.h"
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

TEST_F(CutFileTest, IsNamedByAThreadThatTakesNoSignalsOfOthers) {
  const std::filesystem::path path = folder_ / "file";
  write(path, std::string(10'000, 'x'));
  const auto read_in_thread = [&path](const auto& blocked) {
    tell_of_cut_files(tell);
    [[maybe_unused]] const auto now = blocked();
    std::thread([&path] { read_what_was_cut(path); }).join();
  };
  EXPECT_EXIT(read_in_thread([] { return std::make_unique<BlockedSignals>(); }), ::testing::ExitedWithCode(2),
              "\\[files\\] " + path.string() + ": cut while it was read");
  const auto all_blocked = [] {
    sigset_t all;
    sigfillset(&all);
    return pthread_sigmask(SIG_SETMASK, &all, nullptr);
  };
  write(path, std::string(10'000, 'x'));
  EXPECT_EXIT(read_in_thread(all_blocked), ::testing::KilledBySignal(SIGBUS), "");
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
