#include <gtest/gtest.h>
#include <sys/stat.h>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

const std::vector<std::string> kAllFiles = {"manifest.json", "model.safetensors", "optimizer.safetensors",
                                            "rank-0.json",   "rank-1.json",       "state.json"};

bool is_refused(const std::filesystem::path& checkpoint) {
  return !error_text<CheckError>([&] { verify_checkpoint(checkpoint); }).empty();
}

TEST(CheckpointDamage, EveryMissingFileIsNamed) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  for (const std::string& name : kAllFiles) {
    const std::string whole = file_text(checkpoint / name);
    std::filesystem::remove(checkpoint / name);
    const std::string text = error_text<CheckError>([&] { verify_checkpoint(checkpoint); });
    EXPECT_NE(text.find(name + ": missing"), std::string::npos) << text;
    write_text(checkpoint / name, whole);
  }
}

TEST(CheckpointDamage, AnUnlistedFileIsNamed) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  for (const char* name : {"rank-2.json", "model.bin", ".hidden"}) {
    write_text(checkpoint / name, "x");
    const std::string text = error_text<CheckError>([&] { verify_checkpoint(checkpoint); });
    EXPECT_NE(text.find(std::string("'") + name + "'"), std::string::npos) << text;
    std::filesystem::remove(checkpoint / name);
  }
  EXPECT_FALSE(is_refused(checkpoint));
}

TEST(CheckpointDamage, TheTensorIsNamedWhoseBytesAreNotThoseThatWereSaved) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string whole = file_text(checkpoint / name);
    const SafetensorsFile file(checkpoint / name);
    std::size_t at = whole.size();
    for (const TensorView& tensor : file.tensors()) at -= tensor.bytes.size();
    const auto refusal_of = [&](const std::string& bytes) {
      const std::filesystem::path aside = checkpoint / ".." / "aside";  // the mapped file keeps its bytes
      write_text(aside, bytes);
      std::filesystem::rename(aside, checkpoint / name);
      return error_text<CheckError>([&] { verify_checkpoint(checkpoint); });
    };
    const std::string start = (checkpoint / name).string() + ": damaged: ";
    std::string changed = whole;
    changed[at - 1] ^= 1;  // the last of the header's spaces
    EXPECT_NE(refusal_of(changed).find(start + "its header: SHA-256 "), std::string::npos);
    for (const TensorView& tensor : file.tensors()) {
      const std::string named = start + "tensor '" + tensor.name + "': ";
      changed = whole;
      changed[at + tensor.bytes.size() - 1] ^= 1;
      EXPECT_NE(refusal_of(changed).find(named + "SHA-256 "), std::string::npos) << refusal_of(changed);
      at += tensor.bytes.size();
    }
    const std::string last = start + "tensor '" + file.tensors().back().name + "': ";
    EXPECT_NE(refusal_of(whole.substr(0, whole.size() - 1)).find(last + std::to_string(whole.size() - 1) + " bytes"),
              std::string::npos);
    EXPECT_EQ(refusal_of(whole), "");
  }
}

TEST(CheckpointDamage, SwappedRankFilesAreRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  const std::string first = file_text(checkpoint / "rank-0.json");
  const std::string second = file_text(checkpoint / "rank-1.json");
  ASSERT_NE(first, second);
  write_text(checkpoint / "rank-0.json", second);
  write_text(checkpoint / "rank-1.json", first);
  const std::string text = error_text<CheckError>([&] { verify_checkpoint(checkpoint); });
  EXPECT_NE(text.find("rank-0.json"), std::string::npos) << text;
}

TEST(CheckpointDamage, APartOfAnotherCheckpointOrAnotherNameIsRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path old = save_small(folder.path(), 2, "run-a", 1.0F);
  const std::filesystem::path checkpoint = save_small(folder.path(), 4, "run-a", 2.0F);
  const std::string own = file_text(checkpoint / "model.safetensors");
  write_text(checkpoint / "model.safetensors", file_text(old / "model.safetensors"));
  EXPECT_TRUE(is_refused(checkpoint));
  write_text(checkpoint / "model.safetensors", own);
  EXPECT_FALSE(is_refused(checkpoint));

  std::filesystem::rename(checkpoint, folder.path() / "step-0005");
  EXPECT_TRUE(is_refused(folder.path() / "step-0005"));
  EXPECT_TRUE(is_refused(folder.path() / "step-0005" / ""));
  std::filesystem::rename(folder.path() / "step-0005", folder.path() / "best");
  EXPECT_FALSE(is_refused(folder.path() / "best"));
}

TEST(CheckpointDamage, ContentThatDoesNotFitIsRefusedAlthoughAllDigestsDo) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  const Manifest manifest = read_manifest(checkpoint);
  const std::vector<std::pair<std::size_t, std::string>> forgeries = {
      {0, std::string(8, '\0')},
      {1, safetensors_bytes({})},  // no options
      {1, safetensors_bytes({}, {{"options", "{"}})},
      {2, "[]"},
      {2, R"({"update": 3, "run_id": "run-a"})"},
      {2, R"({"update": 2, "run_id": "run-b"})"},
      {2, R"({"update": 2, "run_id": "run-a", "run_id": "run-a"})"},
      {3, R"({"virtual_rank": 1})"},
      {4, R"({})"},
  };
  for (const auto& [index, text] : forgeries) {
    const std::string own = file_text(checkpoint / manifest.files[index].name);
    forge(checkpoint, index, text);
    EXPECT_TRUE(is_refused(checkpoint)) << index << " " << text;
    forge(checkpoint, index, own);
    EXPECT_FALSE(is_refused(checkpoint));
  }
}

TEST(CheckpointDamage, OnlyRegularFilesAreRead) {
  const TemporaryFolder folder;
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  for (const std::string& name : kAllFiles) {
    const std::filesystem::path path = checkpoint / name;
    const std::filesystem::path elsewhere = folder.path() / "elsewhere";
    std::filesystem::rename(path, elsewhere);
    const auto expect_refusal = [&](const char* what) {
      const std::string text = error_text<CheckError>([&] { verify_checkpoint(checkpoint); });
      EXPECT_NE(text.find(name + ": not a regular file"), std::string::npos) << what << " " << text;
      std::filesystem::remove(path);
    };
    std::filesystem::create_symlink(elsewhere, path);
    expect_refusal("symlink");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    expect_refusal("FIFO");
    std::filesystem::create_directory(path);
    expect_refusal("folder");
    std::filesystem::rename(elsewhere, path);
  }
  EXPECT_FALSE(is_refused(checkpoint));
}

TEST(CheckpointDamage, NoFolderIsAnInputError) {
  const TemporaryFolder folder;
  write_text(folder.path() / "file", "x");
  for (const char* name : {"missing", "file"}) {
    EXPECT_NE(error_text<InputError>([&] { verify_checkpoint(folder.path() / name); }), "");
  }
}

}  // namespace
}  // namespace samegrad
