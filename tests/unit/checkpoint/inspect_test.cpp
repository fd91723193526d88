#include "samegrad/checkpoint/inspect.h"

#include <gtest/gtest.h>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

TEST(InspectCheckpoints, OneCheckpointIsShownWithFilesTensorsAndConfig) {
  const TemporaryFolder folder;
  const std::filesystem::path path = save_small(folder.path(), 50);
  for (const std::filesystem::path& given : {path, path / ""}) {
    const Inspection inspection = inspect_checkpoints(given);
    EXPECT_EQ(inspection.damaged, 0);
    ASSERT_EQ(inspection.json["checkpoints"].size(), 1U);
    const Json& json = inspection.json["checkpoints"][0];
    EXPECT_EQ(json["complete"], true);
    EXPECT_EQ(json["update"], 50);
    EXPECT_EQ(json["run_id"], "run-a");
    EXPECT_EQ(json["files"][0]["sha256"], sha256_hex(file_text(path / kModelFile)));
    EXPECT_EQ(json["files"].size(), 5U);
    EXPECT_EQ(json["model"][0].dump(), R"({"name":"head.weight","dtype":"F32","shape":[2,3]})");
    EXPECT_EQ(json["optimizer"][0]["name"], "head.weight.momentum");
    EXPECT_EQ(json["optimizer_options"]["learning_rate"], 0.1);
    EXPECT_EQ(json["config"]["model"]["kind"], "encoder");
    for (const char* part : {"complete", "update 50, run run-a", "world_size=2", "head.weight.momentum", "[2,3]",
                             "model: kind=encoder layers=2", "learning_rate=0.1", "rank-1.json"}) {
      EXPECT_NE(inspection.table.find(part), std::string::npos) << part << " in\n" << inspection.table;
    }
  }
}

TEST(InspectCheckpoints, AFolderIsListedAndItsDamagedOnesAreCounted) {
  const TemporaryFolder folder;
  save_small(folder.path(), 1);
  write_text(save_small(folder.path(), 2) / kStateFile, "{}");
  const Inspection inspection = inspect_checkpoints(folder.path());
  EXPECT_EQ(inspection.damaged, 1);
  ASSERT_EQ(inspection.json["checkpoints"].size(), 2U);
  EXPECT_EQ(inspection.json["damaged"], 1);
  EXPECT_EQ(inspection.json["checkpoints"][1]["files"].size(), 5U);  // what the sound manifest says
  EXPECT_FALSE(inspection.json["checkpoints"][1].contains("model"));
  EXPECT_NE(inspection.table.find("2 checkpoints, 1 damaged"), std::string::npos) << inspection.table;
  EXPECT_NE(inspection.table.find("state.json: 2 bytes"), std::string::npos) << inspection.table;
}

TEST(InspectCheckpoints, ADamagedOneIsShownWithItsProblem) {
  const TemporaryFolder folder;
  const std::filesystem::path path = save_small(folder.path(), 2);
  std::filesystem::remove(path / kManifestFile);
  const Inspection inspection = inspect_checkpoints(path);
  EXPECT_EQ(inspection.damaged, 1);
  EXPECT_NE(inspection.table.find("DAMAGED"), std::string::npos);
  EXPECT_NE(inspection.table.find("manifest.json: missing"), std::string::npos) << inspection.table;
}

TEST(InspectCheckpoints, TextOfACheckpointCannotMoveTheCursor) {
  const TemporaryFolder folder;
  save_small(folder.path(), 2, "\u001b[2J\nrun");
  for (const std::filesystem::path& path : {folder.path(), folder.path() / "step-0002"}) {
    EXPECT_EQ(inspect_checkpoints(path).table.find('\u001b'), std::string::npos);
  }
}

TEST(InspectCheckpoints, AnEmptyFolderHasNoneAndAMissingOneIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_EQ(inspect_checkpoints(folder.path()).table, folder.path().string() + ": 0 checkpoints, 0 damaged\n");
  EXPECT_NE(error_text<InputError>([&] { inspect_checkpoints(folder.path() / "missing"); }), "");
}

}  // namespace
}  // namespace samegrad
