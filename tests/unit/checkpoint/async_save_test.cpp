#include "samegrad/checkpoint/async_save.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "samegrad/base/error.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

const std::function<void(const std::filesystem::path&)> kNothing = [](const std::filesystem::path&) {};

/// Holds a save at its first file until it is let go.
class HeldFiles : public FileOperations {
 public:
  int open_new(const std::filesystem::path& file, int& descriptor) override {
    reached_ = true;
    reached_.notify_all();
    free_.wait(false);
    return FileOperations::open_new(file, descriptor);
  }
  void wait_until_reached() const { reached_.wait(false); }
  void let_go() {
    free_ = true;
    free_.notify_all();
  }

 private:
  std::atomic<bool> reached_ = false;
  std::atomic<bool> free_ = false;
};

class FullDisk : public FileOperations {
 public:
  int write(int /*descriptor*/, std::string_view /*bytes*/) override { return ENOSPC; }
};

/// All files of the one checkpoint in `checkpoints`.
std::string text_of_checkpoint(const std::filesystem::path& checkpoints) {
  std::string text;
  const std::filesystem::path folder = checkpoints / "step-0004";
  for (const std::string& name : names_in(folder)) text += name + "\n" + file_text(folder / name) + "\n";
  return text;
}

TEST(AsyncSave, SavesTheBytesOfTheMomentOfTheCallAlthoughTheyChangeBeforeAnyIsWritten) {
  const TemporaryFolder folder;
  HeldFiles files;
  SmallContent small(1.0F);
  save_checkpoint(folder.path() / "sync", 4, small.content);
  AsyncSave async(files);
  async.start(folder.path() / "async", 4, small.content, kNothing);
  files.wait_until_reached();
  small.weight.fill(-7);
  small.counter.fill(-7);
  small.momentum.fill(-7);
  small.content.state["config"] = "changed";
  files.let_go();
  async.wait();
  EXPECT_EQ(text_of_checkpoint(folder.path() / "async"), text_of_checkpoint(folder.path() / "sync"));
}

TEST(AsyncSave, ReturnsBeforeAnyFileIsThereAndTellsWhenItIsDone) {
  const TemporaryFolder folder;
  HeldFiles files;
  const SmallContent small;
  AsyncSave async(files);
  std::filesystem::path told;
  async.start(folder.path(), 4, small.content, [&](const std::filesystem::path& path) { told = path; });
  files.wait_until_reached();
  async.check();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "step-0004"));
  files.let_go();
  async.wait();
  EXPECT_EQ(told, folder.path() / "step-0004");
  EXPECT_EQ(verify_checkpoint(told).update, 4);
}

TEST(AsyncSave, OnlyOneIsInFlight) {
  const TemporaryFolder folder;
  const SmallContent small;
  std::atomic<int> in_flight = 0;
  std::atomic<int> most = 0;
  AsyncSave async;
  for (const std::int64_t update : {1, 2, 3, 4}) {
    async.start(folder.path(), update, small.content, [&](const std::filesystem::path&) { --in_flight; });
    most = std::max(most.load(), ++in_flight);
  }
  async.wait();
  EXPECT_LE(most, 1);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0001", "step-0002", "step-0003", "step-0004"}));
}

TEST(AsyncSave, AFailureIsThrownOnceByWhateverIsCalledNext) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  FullDisk files;
  const SmallContent small;
  AsyncSave async(files);
  const std::string expected = "step-0002: writing model.safetensors: No space left on device; needs about ";
  async.start(folder.path(), 2, small.content, kNothing);
  EXPECT_NE(error_text<RunError>([&] { async.wait(); }).find(expected), std::string::npos);
  EXPECT_NO_THROW(async.wait());
  async.start(folder.path(), 2, small.content, kNothing);
  EXPECT_NE(error_text<RunError>([&] { async.start(folder.path(), 3, small.content, kNothing); }).find(expected),
            std::string::npos);
  async.start(folder.path(), 2, small.content, kNothing);
  std::string text;
  while (text.empty()) text = error_text<RunError>([&] { async.check(); });
  EXPECT_NE(text.find(expected), std::string::npos);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0001"});
}

TEST(AsyncSave, WhatIsThrownByDoneIsAFailureToo) {
  const TemporaryFolder folder;
  const SmallContent small;
  AsyncSave async;
  async.start(folder.path(), 1, small.content, [](const std::filesystem::path&) { throw RunError("test", "done"); });
  EXPECT_NE(error_text<RunError>([&] { async.wait(); }), "");
}

TEST(AsyncSave, IsFinishedBeforeItGoesAway) {
  const TemporaryFolder folder;
  {
    const SmallContent small;
    AsyncSave async;
    async.start(folder.path(), 1, small.content, kNothing);
  }
  EXPECT_EQ(verify_checkpoint(folder.path() / "step-0001").update, 1);
}

TEST(AsyncSave, AProcessKilledInFlightLeavesThePreviousOne) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  const pid_t child = fork();
  if (child == 0) {
    HeldFiles files;
    const SmallContent small(2.0F);
    AsyncSave async(files);
    async.start(folder.path(), 2, small.content, kNothing);
    files.wait_until_reached();
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const LatestCheckpoint latest = find_latest(folder.path(), "run-a");
  ASSERT_TRUE(latest.found);
  EXPECT_EQ(latest.found->update, 1);
  save_small(folder.path(), 2);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0001", "step-0002"}));
}

TEST(AsyncSave, ItsThreadTakesNoSignals) {
  const TemporaryFolder folder;
  const SmallContent small;
  sigset_t blocked;
  sigemptyset(&blocked);
  AsyncSave async;
  async.start(folder.path(), 1, small.content,
              [&](const std::filesystem::path&) { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); });
  async.wait();
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  EXPECT_EQ(sigismember(&blocked, SIGUSR1), 1);
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

}  // namespace
}  // namespace samegrad
