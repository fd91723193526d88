#include "samegrad/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

Manifest small_manifest() {
  return {.update = 50,
          .run_id = "run-a",
          .facts = {{"world_size", 2}},
          .files = {{"model.safetensors", 10, std::string(64, 'a')},
                    {"optimizer.safetensors", 0, std::string(64, 'b')},
                    {"state.json", 3, std::string(64, '0')},
                    {"rank-0.json", 4, std::string(64, '1')}}};
}

/// `text` with `from` replaced by `to` and the digest made to fit again: what someone who knows the format could write.
std::string forged(const std::string& from, const std::string& to) {
  std::string text = manifest_text(small_manifest());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  text.resize(text.size() - 64 - 4);
  return text + sha256_hex(text) + "\"\n}\n";
}

std::string refusal(const std::string& text) {
  return error_text<CheckError>([&] { parse_manifest(text, "manifest.json"); });
}

TEST(Manifest, TextIsJsonThatEndsWithTheDigestOfWhatStandsBefore) {
  const std::string text = manifest_text(small_manifest());
  const Json value = Json::parse(text);
  EXPECT_EQ(value.dump(2) + "\n", text);
  EXPECT_EQ(std::prev(value.end()).key(), "sha256");
  const std::string before = text.substr(0, text.size() - 68);
  EXPECT_TRUE(before.ends_with("\"sha256\": \""));
  EXPECT_EQ(value["sha256"], sha256_hex(before));
}

TEST(Manifest, ReadsBackWhatWasWritten) {
  const Manifest manifest = parse_manifest(manifest_text(small_manifest()), "manifest.json");
  EXPECT_EQ(manifest_text(manifest), manifest_text(small_manifest()));
  EXPECT_EQ(manifest.update, 50);
  EXPECT_EQ(manifest.run_id, "run-a");
  EXPECT_EQ(manifest.facts, Json({{"world_size", 2}}));
  EXPECT_EQ(manifest.virtual_ranks(), 1U);
}

TEST(Manifest, ExtraTensorsStandBetweenStateAndRanksOrNowhere) {
  Manifest with_extra = small_manifest();
  const ManifestFile extra{.name = "extra.safetensors", .size = 1, .sha256 = std::string(64, 'b')};
  with_extra.files.insert(with_extra.files.begin() + 3, extra);
  const Manifest read = parse_manifest(manifest_text(with_extra), "manifest.json");
  EXPECT_TRUE(read.has_extra_file());
  EXPECT_EQ(read.virtual_ranks(), 1U);
  with_extra.files.insert(with_extra.files.begin() + 3, extra);
  EXPECT_NE(refusal(manifest_text(with_extra)).find("expected rank-0.json"), std::string::npos);
  Manifest at_the_end = small_manifest();
  at_the_end.files.push_back(extra);
  EXPECT_NE(refusal(manifest_text(at_the_end)).find("expected rank-1.json"), std::string::npos);
}

TEST(Manifest, RefusesAnotherVersionByName) {
  const std::string text = refusal(forged("\"format_version\": 1", "\"format_version\": 2"));
  EXPECT_NE(text.find("version 2"), std::string::npos) << text;
  EXPECT_NE(text.find("version 1"), std::string::npos) << text;
  EXPECT_NE(refusal(forged("samegrad checkpoint", "other")).find("\"other\""), std::string::npos);
}

TEST(Manifest, RefusesAFileListThatIsNotTheFormatsAlthoughItsDigestFits) {
  EXPECT_EQ(refusal(forged("run-a", "run-b")), "");  // the forgery itself is sound
  EXPECT_NE(refusal(forged("rank-0.json", "../rank-0.json")).find("expected rank-0.json"), std::string::npos);
  EXPECT_NE(refusal(forged("rank-0.json", "rank-1.json")).find("expected rank-0.json"), std::string::npos);
  EXPECT_NE(refusal(forged("model.safetensors", "/etc/passwd")).find("expected model.safetensors"), std::string::npos);
  EXPECT_NE(refusal(forged("\"size\": 10", "\"size\": -10")).find("file 0"), std::string::npos);
  EXPECT_NE(refusal(forged("\"size\": 10", "\"size\": 1.5")).find("file 0"), std::string::npos);
  EXPECT_NE(refusal(forged(std::string(64, 'a'), std::string(64, 'A'))).find("file 0"), std::string::npos);
  EXPECT_NE(refusal(forged("\"update\": 50", "\"update\": 50,\n  \"update\": 51")).find("'update' twice"),
            std::string::npos);
  EXPECT_NE(refusal(forged("\"update\": 50", "\"update\": \"50\"")), "");
  EXPECT_NE(refusal(forged("\"update\": 50", "\"extra\": 1,\n  \"update\": 50")).find("members"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
