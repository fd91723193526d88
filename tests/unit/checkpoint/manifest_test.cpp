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
          .files = {{"model.safetensors",
                     10,
                     std::string(64, 'a'),
                     {{"w", 4, std::string(32, 'c')}, {"../\n", 0, std::string(32, 'd')}}},
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
  for (const char* other : {"3", "0", "-1", "\"2\"", "2.0", "18446744073709551617"}) {
    const std::string text = refusal(forged("\"format_version\": 2", std::string("\"format_version\": ") + other));
    EXPECT_NE(text.find("this program reads \"samegrad checkpoint\", versions 1 to 2"), std::string::npos) << text;
  }
  EXPECT_NE(refusal(forged("samegrad checkpoint", "other")).find("\"other\""), std::string::npos);
}

/// The small manifest as version 1 writes it: without the lists of tensors.
Json version_1() {
  Json value = Json::parse(manifest_text(small_manifest()));
  value["format_version"] = 1;
  for (Json& file : value["files"]) file.erase("tensors");
  value.erase("sha256");
  return value;
}

std::string signed_text(const Json& value) {
  const std::string text = value.dump(2);
  const std::string before = text.substr(0, text.size() - 2) + ",\n  \"sha256\": \"";
  return before + sha256_hex(before) + "\"\n}\n";
}

TEST(Manifest, ReadsVersion1WhichListsNoTensors) {
  const Manifest manifest = parse_manifest(signed_text(version_1()), "manifest.json");
  EXPECT_EQ(manifest.files[0].sha256, std::string(64, 'a'));
  EXPECT_TRUE(manifest.files[0].tensors.empty());
  Json mixed = version_1();
  mixed["files"][0]["tensors"] = Json::array();
  EXPECT_NE(refusal(signed_text(mixed)).find("members"), std::string::npos);
}

TEST(Manifest, TensorsAreReadBackAndLeftOutWhereTheyAreTooMany) {
  const Manifest read = parse_manifest(manifest_text(small_manifest()), "manifest.json");
  ASSERT_EQ(read.files[0].tensors.size(), 2U);
  EXPECT_EQ(read.files[0].tensors[0].name, "w");
  EXPECT_EQ(read.files[0].tensors[0].size, 4);
  EXPECT_EQ(read.files[0].tensors[0].xxh3, std::string(32, 'c'));
  EXPECT_TRUE(read.files[1].tensors.empty());
  Manifest large = small_manifest();
  large.files[1].tensors.resize(kMostListedTensors - 2, {"a", 0, std::string(32, 'e')});
  EXPECT_EQ(parse_manifest(manifest_text(large), "m").files[1].tensors.size(), kMostListedTensors - 2);
  large.files[1].tensors.push_back({"a", 0, std::string(32, 'e')});
  EXPECT_TRUE(parse_manifest(manifest_text(large), "m").files[0].tensors.empty());
}

TEST(Manifest, RefusesAListOfTensorsThatCannotBeAlthoughItsDigestFits) {
  EXPECT_NE(refusal(forged("\"size\": 4,\n          \"xxh3\"", "\"size\": 11,\n          \"xxh3\"")).find("tensors of"),
            std::string::npos);
  EXPECT_NE(refusal(forged("\"size\": 0,\n          \"xxh3\"", "\"size\": 7,\n          \"xxh3\"")).find("tensors of"),
            std::string::npos);
  EXPECT_NE(refusal(forged("\"size\": 4,\n          \"xxh3\"", "\"size\": -4,\n          \"xxh3\"")).find("tensors of"),
            std::string::npos);
  EXPECT_NE(refusal(forged(std::string(32, 'c'), std::string(31, 'c'))).find("tensors of"), std::string::npos);
  EXPECT_NE(refusal(forged("\"name\": \"w\"", "\"name\": 3")).find("tensors of"), std::string::npos);
  EXPECT_NE(refusal(forged("\"name\": \"w\"", "\"nome\": \"w\"")).find("members"), std::string::npos);
  Json of_a_file_without = Json::parse(manifest_text(small_manifest()));
  of_a_file_without.erase("sha256");
  of_a_file_without["files"][2]["tensors"] = Json::array();
  EXPECT_NE(refusal(signed_text(of_a_file_without)).find("tensors of state.json"), std::string::npos);
}

TEST(Manifest, TheDamagedTensorIsNamedByWhereItsBytesAre) {
  const std::string bytes = "hhhhhhaaaabbbb";
  const ManifestFile file{
      .name = "model.safetensors",
      .size = 14,
      .sha256 = {},
      .tensors = {{"a", 4, xxh3_128_hex("aaaa")}, {"", 0, xxh3_128_hex("")}, {"b", 4, xxh3_128_hex("bbbb")}}};
  const auto place = [&](std::size_t at, char put) {
    std::string changed = bytes;
    changed[at] = put;
    return damaged_place(file, changed);
  };
  for (std::size_t at = 0; at < 6; ++at) EXPECT_EQ(place(at, 'x'), "its header");
  for (std::size_t at = 6; at < 10; ++at) EXPECT_EQ(place(at, 'x'), "tensor 'a'");
  for (std::size_t at = 10; at < 14; ++at) EXPECT_EQ(place(at, 'x'), "tensor 'b'");
  EXPECT_EQ(damaged_place(file, "hhhhhhaaxabbxb"), "tensor 'a' (and 1 more of 3)");
  EXPECT_EQ(damaged_place(file, bytes.substr(0, 12)), "tensor 'b'");
  EXPECT_EQ(damaged_place(file, ""), "tensor 'a' (and 2 more of 3)");
  EXPECT_EQ(damaged_place(file, bytes + "x"), "");
  EXPECT_EQ(damaged_place({.name = "model.safetensors", .size = 14, .sha256 = {}}, bytes), "");
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
