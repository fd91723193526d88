// A process that dies between any two file operations of a save.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/fault_hook.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

constexpr int kCrashed = 77;

/// Saves in a child that leaves at its `point`-th fault point. False where the save has fewer points.
bool crash_at(int point, const std::filesystem::path& checkpoints, std::int64_t update, FileOperations& files) {
  const pid_t child = fork();
  if (child == 0) {
    int left = point;
    fault_hook() = [&](std::string_view) {
      if (left-- == 0) {
        _exit(kCrashed);
      }
    };
    save_small(checkpoints, update, "run-a", 2.0F, files);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == kCrashed || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  return WEXITSTATUS(status) == kCrashed;
}

float first_weight(const std::filesystem::path& checkpoint) {
  const SafetensorsFile model(checkpoint / kModelFile);
  return *reinterpret_cast<const float*>(model.tensors()[0].bytes.data());
}

struct Outcomes {
  int points = 0;
  int old_ones = 0;
  int new_ones = 0;
};

/// Crashes a save of `update` over a whole step-0002 at every point; each time a whole checkpoint must be found.
Outcomes crash_everywhere(std::int64_t update, FileOperations& files) {
  Outcomes outcomes;
  while (true) {
    const TemporaryFolder folder(Medium::kMemory);
    const std::filesystem::path old = save_small(folder.path(), 2, "run-a", 1.0F);
    if (!crash_at(outcomes.points, folder.path(), update, files)) {
      return outcomes;
    }
    ++outcomes.points;

    const LatestCheckpoint latest = find_latest(folder.path(), "run-a");
    EXPECT_TRUE(latest.found) << "point " << outcomes.points;
    if (latest.found) {
      const bool is_new = first_weight(latest.found->path) == 2.0F;
      outcomes.new_ones += is_new ? 1 : 0;
      outcomes.old_ones += is_new ? 0 : 1;
      EXPECT_EQ(latest.found->update, is_new ? update : 2);
    }
    EXPECT_TRUE(latest.passed_over.empty()) << "point " << outcomes.points;
    if (&files == &real_files()) {
      EXPECT_NO_THROW(verify_checkpoint(old)) << "point " << outcomes.points;
    }

    save_small(folder.path(), 6);
    for (const std::string& name : names_in(folder.path())) {
      EXPECT_TRUE(name.starts_with("step-")) << name << " left after point " << outcomes.points;
    }
    EXPECT_NO_THROW(verify_checkpoint(old)) << "point " << outcomes.points;
  }
}

TEST(CrashInSave, OfANewCheckpointLeavesTheOldOneOrBoth) {
  const Outcomes outcomes = crash_everywhere(4, real_files());
  EXPECT_GT(outcomes.points, 20);
  EXPECT_GT(outcomes.old_ones, 20);
  EXPECT_EQ(outcomes.new_ones, 2);  // after the rename, and after the parent's fsync
}

TEST(CrashInSave, OverACheckpointOfTheSameNameLeavesTheOldOrTheNewUnderThatName) {
  const Outcomes outcomes = crash_everywhere(2, real_files());
  EXPECT_GT(outcomes.old_ones, 20);
  EXPECT_EQ(outcomes.new_ones, 3);  // also after the old one's removal
}

TEST(CrashInSave, WithoutExchangeLeavesTheOldOrTheNewWhereItIsFound) {
  NoExchange files;
  const Outcomes outcomes = crash_everywhere(2, files);
  EXPECT_GT(outcomes.old_ones, 21);  // one of them set aside
  EXPECT_EQ(outcomes.new_ones, 3);
}

}  // namespace
}  // namespace samegrad
