#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/leftovers.h"
#include "samegrad/checkpoint/replaceable.h"
#include "samegrad/checkpoint/staged_folder.h"
#include "samegrad/checkpoint/step_name.h"
#include "tests/unit/base/no_threads.h"
#include "tests/unit/checkpoint/fault_hook.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

/// A process id that no process has: that of a child that has ended and been waited for.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return child;
}

TEST(SaveCheckpoint, WhatIsSavedIsReadBackExactly) {
  const TemporaryFolder folder;
  const SmallContent small;
  const std::filesystem::path path = save_checkpoint(folder.path() / "a" / "b", 50, small.content);
  EXPECT_EQ(path, folder.path() / "a" / "b" / "step-0050");
  const Checkpoint checkpoint = verify_checkpoint(path);
  EXPECT_EQ(checkpoint.update, 50);
  EXPECT_EQ(checkpoint.manifest.run_id, "run-a");
  EXPECT_EQ(checkpoint.manifest.facts, small.content.manifest_facts);
  EXPECT_EQ(checkpoint.state["update"], 50);
  EXPECT_EQ(checkpoint.state["config"], small.content.state["config"]);
  ASSERT_EQ(checkpoint.rank_files.size(), 2U);
  EXPECT_EQ(checkpoint.rank_files[1], Json({{"virtual_rank", 1}, {"history", {3, 4}}}));
  EXPECT_EQ(file_text(path / kModelFile), safetensors_bytes(small.content.model));
  const SafetensorsFile optimizer(path / kOptimizerFile);
  const Json options = read_optimizer_options(optimizer);
  EXPECT_EQ(options, small.content.optimizer_options);
  EXPECT_EQ(options["momentum"].get<double>(), 1.0 / 3.0);
  EXPECT_EQ(names_in(folder.path() / "a" / "b"), std::vector<std::string>{"step-0050"});
}

TEST(SaveCheckpoint, OfALargeTensorIsTheSameWhereNoThreadCanHashIt) {
  const TemporaryFolder folder;
  const std::vector<std::byte> bytes(std::size_t{3} << 20, std::byte{7});
  SmallContent small;
  small.content.model = {{.name = "w",
                          .type = TensorType::kFloat32,
                          .shape = {static_cast<std::int64_t>(bytes.size() / 4)},
                          .bytes = bytes}};
  const std::filesystem::path with = save_checkpoint(folder.path() / "with", 1, small.content);
  const pid_t child = fork();
  if (child == 0) {
    if (!can_start_no_thread_any_more()) _exit(2);
    save_checkpoint(folder.path() / "without", 1, small.content);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  verify_checkpoint(folder.path() / "without" / "step-0001");
  EXPECT_EQ(file_text(with / kManifestFile), file_text(folder.path() / "without" / "step-0001" / kManifestFile));
}

TEST(SaveCheckpoint, ModelAndOptimizerBytesDoNotDependOnPlaceTimeOrFacts) {
  const TemporaryFolder folder;
  SmallContent first;
  SmallContent second(1.0F, "run-b");
  second.content.manifest_facts["world_size"] = 5;
  second.content.rank_files.pop_back();
  const std::filesystem::path a = save_checkpoint(folder.path() / "a", 1, first.content);
  const std::filesystem::path b = save_checkpoint(folder.path() / "elsewhere", 2, second.content);
  EXPECT_EQ(file_text(a / kModelFile), file_text(b / kModelFile));
  EXPECT_EQ(file_text(a / kOptimizerFile), file_text(b / kOptimizerFile));
  EXPECT_NE(file_text(a / kStateFile), file_text(b / kStateFile));
}

TEST(SaveCheckpoint, AnExistingFolderIsReplacedAsAWholeInBothWays) {
  NoExchange no_exchange;
  for (FileOperations* const files : {&real_files(), static_cast<FileOperations*>(&no_exchange)}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = save_small(folder.path(), 50, "run-a", 1.0F, *files);
    write_text(path / "rank-12.json", "x");  // of an older one with more ranks
    EXPECT_EQ(save_small(folder.path(), 50, "run-b", 2.0F, *files), path);
    EXPECT_EQ(verify_checkpoint(path).manifest.run_id, "run-b");
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0050"});
  }
}

TEST(SaveCheckpoint, AFolderThatHoldsWhatIsNoCheckpointsIsKeptAndNamed) {
  for (const char* name :
       {"thesis.txt", "rank-1.json.bak", "rank-01.json", "rank-.json", ".hidden", "model.safetensors~"}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = save_small(folder.path(), 50);
    write_text(path / name, "mine");
    const std::string manifest = file_text(path / kManifestFile);
    const std::string text = error_text<RunError>([&] { save_small(folder.path(), 50, "run-b", 2.0F); });
    EXPECT_NE(text.find(std::string("step-0050: holds '") + name + "', which is no checkpoint's"), std::string::npos)
        << text;
    EXPECT_EQ(file_text(path / name), "mine");
    EXPECT_EQ(file_text(path / kManifestFile), manifest);
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0050"});
    EXPECT_FALSE(error_text<RunError>([&] { require_replaceable(folder.path(), 50, 50); }).empty());
    require_replaceable(folder.path(), 51, 60);
    require_replaceable(folder.path(), 0, 49);
  }
}

TEST(SaveCheckpoint, AFileInThePlaceOfTheFolderIsKeptAndNamed) {
  const TemporaryFolder folder;
  write_text(folder.path() / "step-0050", "mine");
  const std::string text = error_text<RunError>([&] { save_small(folder.path(), 50); });
  EXPECT_NE(text.find("step-0050: is no folder"), std::string::npos) << text;
  EXPECT_EQ(file_text(folder.path() / "step-0050"), "mine");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0050"});
}

TEST(SaveCheckpoint, EveryFileIsSyncedBeforeTheManifestIsWrittenAndThatBeforeTheFolderIsPlaced) {
  const TemporaryFolder folder;
  std::vector<std::string> phases;
  fault_hook() = [&](std::string_view phase) { phases.emplace_back(phase); };
  save_small(folder.path(), 1);
  fault_hook() = nullptr;
  const auto position = [&](const std::string& phase) {
    const auto found = std::find(phases.begin(), phases.end(), phase);
    EXPECT_NE(found, phases.end()) << phase;
    return found - phases.begin();
  };
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json", "rank-0.json", "rank-1.json"}) {
    EXPECT_LT(position(std::string("save:synced-") + name), position("save:writing-manifest.json")) << name;
  }
  EXPECT_LT(position("save:synced-manifest.json"), position("save:folder-synced"));
  EXPECT_LT(position("save:folder-synced"), position("save:placed"));
  EXPECT_LT(position("save:placed"), position("save:parent-synced"));
}

TEST(SaveCheckpoint, AFullDiskNamesBytesNeededAndFreeAndLeavesNothing) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  // A limit on the size of a file makes writes fail as a full disk does, for any user. It holds for the child only.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 300, .rlim_max = 300};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      _exit(10);
    }
    const std::string text = error_text<RunError>([&] { save_small(folder.path(), 2); });
    const bool named = text.find("step-0002: writing ") != std::string::npos &&
                       text.find("needs about ") != std::string::npos &&
                       text.find(" bytes are free") != std::string::npos;
    _exit(named ? 0 : 11);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0001"});
}

TEST(SaveCheckpoint, AnErrorAtAnyPointBeforeTheRenameLeavesNothing) {
  std::vector<std::string> phases;
  fault_hook() = [&](std::string_view phase) { phases.emplace_back(phase); };
  {
    const TemporaryFolder folder;
    save_small(folder.path(), 1);
  }
  std::size_t tried = 0;
  for (const std::string& wanted : phases) {
    if (wanted == "save:placed") {
      break;
    }
    const TemporaryFolder folder;
    fault_hook() = [&](std::string_view phase) {
      if (phase == wanted) {
        throw RunError("test", "made to fail");
      }
    };
    EXPECT_NE(error_text<RunError>([&] { save_small(folder.path(), 1); }), "") << wanted;
    EXPECT_TRUE(names_in(folder.path()).empty()) << wanted;
    ++tried;
  }
  fault_hook() = nullptr;
  EXPECT_GT(tried, 20U);
}

TEST(SaveCheckpoint, ErrorsOfTheFileSystemAreNamed) {
  const TemporaryFolder folder;
  write_text(folder.path() / "file", "x");
  const std::string text = error_text<RunError>([&] { save_small(folder.path() / "file" / "checkpoints", 1); });
  EXPECT_NE(text.find("step-0001: making the folder: Not a directory"), std::string::npos) << text;
}

/// Makes the hidden folder that `owner` uses for `update`; returns its name.
std::string put_aside(const std::filesystem::path& folder, AsideKind kind, std::int64_t update,
                      const NameOwner& owner) {
  AsideName name = aside_name(kind, update);
  name.owner = owner;
  std::filesystem::create_directory(folder / name.text());
  write_text(folder / name.text() / kStateFile, "x");
  return name.text();
}

TEST(SaveCheckpoint, LeftoversOfDeadProcessesGoAndThoseOfLivingOnesStay) {
  const TemporaryFolder folder;
  NameOwner dead = this_process();
  dead.process = dead_process();
  NameOwner other = this_process();
  other.process = 1;
  put_aside(folder.path(), AsideKind::kSaving, 7, dead);
  put_aside(folder.path(), AsideKind::kRemoving, 8, dead);
  put_aside(folder.path(), AsideKind::kSaving, 1, this_process());
  put_aside(folder.path(), AsideKind::kReplaced, 1, dead);
  const std::string living = put_aside(folder.path(), AsideKind::kSaving, 7, other);
  write_text(folder.path() / ".saving-notes", "mine");
  write_text(folder.path() / ".samegrad-probe", "samegrad");
  write_text(folder.path() / ("..samegrad-probe.tmp-" + dead.text()), "samegrad");
  const std::string probe = "..samegrad-probe.tmp-" + other.text();
  write_text(folder.path() / probe, "samegrad");
  save_small(folder.path(), 1);
  // The replaced step-0001 had no successor: it came back, and was then replaced by this save.
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{probe, ".saving-notes", living, "step-0001"}));
  EXPECT_EQ(verify_checkpoint(folder.path() / "step-0001").update, 1);
}

TEST(SaveCheckpoint, WhatAnotherHostWritesStaysUntilItHasNotChangedForADay) {
  const TemporaryFolder folder;
  NameOwner elsewhere = this_process();
  elsewhere.host = elsewhere.host == "00000000" ? "00000001" : "00000000";  // with the id of this process
  const std::vector<std::string> theirs = {put_aside(folder.path(), AsideKind::kRemoving, 8, elsewhere),
                                           put_aside(folder.path(), AsideKind::kSaving, 1, elsewhere)};
  const std::string replaced = put_aside(folder.path(), AsideKind::kReplaced, 2, elsewhere);
  save_small(folder.path(), 1);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{theirs[0], replaced, theirs[1], "step-0001"}));
  const std::time_t later = std::time(nullptr) + kLeftOverAfterSeconds + 60;
  ASSERT_EQ(remove_leftovers(real_files(), folder.path(), names_in(folder.path()), later), 0);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0001", "step-0002"}));
}

TEST(SaveCheckpoint, MistakesOfTheCallerAreInvariantErrors) {
  const TemporaryFolder folder;
  const auto refused = [&](const SmallContent& small, std::int64_t update) {
    return !error_text<InvariantError>([&] { save_checkpoint(folder.path() / "c", update, small.content); }).empty();
  };
  SmallContent no_run_id;
  no_run_id.content.state.erase("run_id");
  SmallContent other_update;
  other_update.content.state["update"] = 5;
  SmallContent other_rank;
  other_rank.content.rank_files[1]["virtual_rank"] = 0;
  EXPECT_TRUE(refused(no_run_id, 6));
  EXPECT_TRUE(refused(other_update, 6));
  EXPECT_FALSE(refused(other_update, 5));
  EXPECT_TRUE(refused(other_rank, 6));
  EXPECT_TRUE(refused(SmallContent(), -1));
}

}  // namespace
}  // namespace samegrad
