#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

void damage(const std::filesystem::path& checkpoint) { write_text(checkpoint / kModelFile, "x"); }

TEST(ListCheckpoints, SaysOfEachWhetherItIsCompleteInOrderOfUpdates) {
  const TemporaryFolder folder;
  save_small(folder.path(), 10000);
  save_small(folder.path(), 50, "run-b");
  damage(save_small(folder.path(), 100));
  std::filesystem::create_directory(folder.path() / "step-0007");
  write_text(folder.path() / "step-0008", "a file");
  std::filesystem::create_directory(folder.path() / "step-0050-copy");
  std::filesystem::create_directory(folder.path() / ".saving-step-0060-1");

  const std::vector<CheckpointStatus> listing = list_checkpoints(folder.path());
  ASSERT_EQ(listing.size(), 5U);
  const std::vector<std::int64_t> updates = {7, 8, 50, 100, 10000};
  const std::vector<bool> complete = {false, false, true, false, true};
  const std::vector<std::string> run_ids = {"", "", "run-b", "run-a", "run-a"};
  for (std::size_t i = 0; i < listing.size(); ++i) {
    EXPECT_EQ(listing[i].update, updates[i]);
    EXPECT_EQ(listing[i].complete, complete[i]) << i;
    EXPECT_EQ(listing[i].run_id, run_ids[i]) << i;
    EXPECT_EQ(listing[i].problem.empty(), complete[i]) << i;
  }
  EXPECT_NE(listing[3].problem.find("model.safetensors"), std::string::npos);
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(listing[4].path)) {
    bytes += static_cast<std::int64_t>(entry.file_size());
  }
  EXPECT_EQ(listing[4].bytes, bytes);
}

TEST(ListCheckpoints, AMissingFolderHasNoneAndAFileIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_TRUE(list_checkpoints(folder.path() / "missing").empty());
  write_text(folder.path() / "file", "x");
  EXPECT_NE(error_text<InputError>([&] { list_checkpoints(folder.path() / "file"); }), "");
}

TEST(FindLatest, PassesOverDamagedOnesAndOtherRunsAndSaysWhy) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  save_small(folder.path(), 2);
  damage(save_small(folder.path(), 4));
  save_small(folder.path(), 6, "run-b");
  std::filesystem::create_directory(folder.path() / "step-0008");

  const LatestCheckpoint latest = find_latest(folder.path(), "run-a");
  ASSERT_TRUE(latest.found);
  EXPECT_EQ(latest.found->update, 2);
  ASSERT_EQ(latest.passed_over.size(), 3U);
  EXPECT_NE(latest.passed_over[0].problem.find("manifest.json: missing"), std::string::npos);
  EXPECT_NE(latest.passed_over[1].problem.find("of run 'run-b'"), std::string::npos);
  EXPECT_NE(latest.passed_over[2].problem.find("step-0004/model.safetensors"), std::string::npos);
}

/// What can have become of the newest checkpoint, and a part of what is said of it.
struct Damage {
  const char* said;
  std::function<void(const std::filesystem::path&)> act;
};

std::vector<Damage> damages() {
  const auto file = [](const char* name, const std::function<void(const std::filesystem::path&)>& act) {
    return [name = std::string(name), act](const std::filesystem::path& checkpoint) {
      std::filesystem::remove(checkpoint / name);
      act(checkpoint / name);
    };
  };
  const auto nothing = [](const std::filesystem::path&) {};
  const auto make_fifo = [](const std::filesystem::path& path) { mkfifo(path.c_str(), 0600); };
  const auto make_link = [](const std::filesystem::path& path) { std::filesystem::create_symlink("/dev/zero", path); };
  const auto make_folder = [](const std::filesystem::path& path) { std::filesystem::create_directory(path); };
  const auto huge = [](const std::string& end) {
    return [end](const std::filesystem::path& path) {
      write_text(path, "");
      std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
      std::ofstream(path, std::ios::app) << end;
    };
  };
  std::string header_length(64, ' ');
  header_length.replace(0, 8, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f"));
  const auto whole = [](const std::function<void(const std::filesystem::path&)>& act) {
    return [act](const std::filesystem::path& checkpoint) {
      std::filesystem::remove_all(checkpoint);
      act(checkpoint);
    };
  };
  return {
      {"manifest.json: missing", file("manifest.json", nothing)},
      {"manifest.json: cut or damaged", file("manifest.json", [](const auto& path) { write_text(path, "{}"); })},
      {"manifest.json: not a regular file", file("manifest.json", make_fifo)},
      {"manifest.json: not a regular file", file("manifest.json", make_link)},
      {"manifest.json: not a regular file", file("manifest.json", make_folder)},
      {"; a manifest has at most 100000000", file("manifest.json", huge("\"\n}\n"))},
      {"model.safetensors: missing", file("model.safetensors", nothing)},
      {"model.safetensors: not a regular file", file("model.safetensors", make_fifo)},
      {"model.safetensors: not a regular file", file("model.safetensors", make_link)},
      {"bytes; its manifest says", file("model.safetensors", huge(""))},
      {"header length: 9223372036854775807",
       [=](const std::filesystem::path& checkpoint) { forge(checkpoint, 0, header_length); }},
      {"state.json: missing", file("state.json", nothing)},
      {"rank-1.json: missing, the history of virtual rank 1", file("rank-1.json", nothing)},
      {"which its manifest does not list", file("rank-2.json", make_fifo)},
      {"no such folder", whole(make_fifo)},
      {"no such folder", whole([](const auto& path) { std::filesystem::create_symlink(path, path); })},
      {"no such folder", whole([](const auto& path) { write_text(path, "x"); })},
      {"manifest.json: missing", whole(make_folder)},
      {"of run 'run-b'", [](const auto& path) { save_small(path.parent_path(), 4, "run-b"); }},
      {"its name another",
       [](const auto& path) {
         std::filesystem::remove_all(path);
         std::filesystem::copy(path.parent_path() / "step-0002", path);
       }},
  };
}

TEST(FindLatest, TakesThePreviousOneWhateverTheNewestIsAndSaysWhy) {
  for (const Damage& damage : damages()) {
    const TemporaryFolder folder(Medium::kMemory);
    save_small(folder.path(), 2);
    damage.act(save_small(folder.path(), 4));
    const LatestCheckpoint latest = find_latest(folder.path(), "run-a");
    ASSERT_TRUE(latest.found) << damage.said;
    EXPECT_EQ(latest.found->update, 2) << damage.said;
    ASSERT_EQ(latest.passed_over.size(), 1U) << damage.said;
    const std::string& problem = latest.passed_over[0].problem;
    EXPECT_NE(problem.find(damage.said), std::string::npos) << problem;
    EXPECT_NE(problem.find("step-0004"), std::string::npos) << problem;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
    // It is no reason either to remove the one that is whole.
    EXPECT_TRUE(prune_checkpoints(folder.path(), "run-a", {.keep = 1}).empty()) << damage.said;
  }
}

TEST(FindLatest, OfARunWithoutCheckpointsFindsNone) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  const LatestCheckpoint latest = find_latest(folder.path(), "run-z");
  EXPECT_FALSE(latest.found);
  EXPECT_EQ(latest.passed_over.size(), 1U);
  EXPECT_FALSE(find_latest(folder.path() / "missing", "run-a").found);
}

TEST(PruneCheckpoints, KeepsTheNewestCompleteOnesOfTheRunAndTouchesNothingElse) {
  const TemporaryFolder folder;
  for (const std::int64_t update : {1, 2, 3, 5}) {
    save_small(folder.path(), update);
  }
  damage(save_small(folder.path(), 4));
  damage(save_small(folder.path(), 9));
  save_small(folder.path(), 0, "run-b");
  EXPECT_EQ(prune_checkpoints(folder.path(), "run-a", {.keep = 2}),
            (std::vector<std::filesystem::path>{folder.path() / "step-0002", folder.path() / "step-0001"}));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"step-0000", "step-0003", "step-0004", "step-0005", "step-0009"}));
  EXPECT_TRUE(prune_checkpoints(folder.path(), "run-a", {.keep = 2}).empty());
}

TEST(PruneCheckpoints, NeverTakesTheLastCompleteOneHoweverManyDamagedOnesAreNewer) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  damage(save_small(folder.path(), 2));
  damage(save_small(folder.path(), 3));
  EXPECT_TRUE(prune_checkpoints(folder.path(), "run-a", {.keep = 1}).empty());
  EXPECT_EQ(find_latest(folder.path(), "run-a").found->update, 1);
}

TEST(PruneCheckpoints, KeepsBesidesThoseWhoseUpdateKeepEveryDivides) {
  const TemporaryFolder folder;
  for (const std::int64_t update : {3, 10, 15, 20, 25, 28, 29}) save_small(folder.path(), update);
  prune_checkpoints(folder.path(), "run-a", {.keep = 2, .keep_every = 10});
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0010", "step-0020", "step-0028", "step-0029"}));
  save_small(folder.path(), 30);
  prune_checkpoints(folder.path(), "run-a", {.keep = 1, .keep_every = 10});
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0010", "step-0020", "step-0030"}));
}

TEST(PruneCheckpoints, TheOneJustSavedStaysThoughNewerOnesOfBeforeAResumeAreThere) {
  const TemporaryFolder folder;
  for (const std::int64_t update : {1, 2, 3, 8, 9}) save_small(folder.path(), update);
  EXPECT_EQ(prune_checkpoints(folder.path(), "run-a", {.keep = 1, .saved = 3}),
            (std::vector<std::filesystem::path>{folder.path() / "step-0002", folder.path() / "step-0001"}));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0003", "step-0008", "step-0009"}));
}

TEST(PruneCheckpoints, ThoseThatAResumeTookBackAreNeitherTheLatestNorCountedNorRemoved) {
  const TemporaryFolder folder;
  RunLegs legs;
  const auto save = [&](std::int64_t update, const std::string& leg) {
    SmallContent small;
    small.content.manifest_facts["leg"] = leg;
    save_checkpoint(folder.path(), update, small.content);
  };
  const std::string first = legs.begin(0);
  for (const std::int64_t update : {2, 4, 5, 6, 9}) save(update, first);
  const std::string second = legs.begin(2);
  EXPECT_EQ(find_latest(folder.path(), "run-a", legs).found->update, 2);
  for (const std::int64_t update : {4, 8}) save(update, second);
  const LatestCheckpoint latest = find_latest(folder.path(), "run-a", legs);
  EXPECT_EQ(latest.found->update, 8);
  ASSERT_EQ(latest.passed_over.size(), 1U);
  EXPECT_NE(latest.passed_over[0].problem.find("step-0009: of a part of the run that a resume from update 2 took back"),
            std::string::npos);
  prune_checkpoints(folder.path(), "run-a", {.keep = 2, .saved = 8}, real_files(), legs);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"step-0004", "step-0005", "step-0006", "step-0008", "step-0009"}));
  damage(folder.path() / "step-0008");
  EXPECT_EQ(find_latest(folder.path(), "run-a", legs).found->update, 4);
}

TEST(PruneCheckpoints, KeepZeroKeepsAll) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  save_small(folder.path(), 2);
  EXPECT_TRUE(prune_checkpoints(folder.path(), "run-a", {.keep = 0}).empty());
  EXPECT_EQ(names_in(folder.path()).size(), 2U);
}

}  // namespace
}  // namespace samegrad
