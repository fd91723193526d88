#include "samegrad/base/json.h"

#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

class JsonFile : public TemporaryFolder {
 protected:
  std::string refused(const std::string& bytes) {
    write(folder_ / "file.json", bytes);
    try {
      read_json_file(folder_ / "file.json", "plan");
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }
};

TEST_F(JsonFile, KeepsMembersInOrderAndEndsWithANewline) {
  write_json_file(folder_ / "file.json", Json{{"z", 1}, {"a", {1, 2}}});
  EXPECT_EQ(content(folder_ / "file.json"), "{\n  \"z\": 1,\n  \"a\": [\n    1,\n    2\n  ]\n}\n");
  EXPECT_EQ(read_json_file(folder_ / "file.json", "plan").begin().key(), "z");
}

TEST_F(JsonFile, DoublesReadBackToTheSameBits) {
  EXPECT_TRUE(rc::check([&](std::uint64_t bits) {
    const auto value = std::bit_cast<double>(bits);
    RC_PRE(std::isfinite(value));
    const auto read = Json::parse(Json(value).dump()).get<double>();
    RC_ASSERT(std::bit_cast<std::uint64_t>(read) == bits);
  }));
}

TEST_F(JsonFile, RefusesWhatIsNoJsonNamingFileAndReason) {
  EXPECT_TRUE(refused("{\"a\": 1").starts_with("[plan] " + (folder_ / "file.json").string() + ": not JSON: "));
  EXPECT_NE(refused("").find("not JSON"), std::string::npos);
  EXPECT_NE(refused("1 2").find("not JSON"), std::string::npos);
  EXPECT_NE(refused("\"\xff\"").find("not JSON"), std::string::npos);
}

TEST_F(JsonFile, RefusesDeepNestingAndTakesWhatIsJustDeepEnough) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NE(refused(nested(101)).find("nested deeper than 100"), std::string::npos);
  EXPECT_NE(refused(std::string(1'000'000, '[')).find("nested deeper than 100"), std::string::npos);
  write(folder_ / "file.json", nested(100));
  EXPECT_TRUE(read_json_file(folder_ / "file.json", "plan").is_array());
}

TEST_F(JsonFile, RefusesAHugeFileBeforeReadingIt) {
  write(folder_ / "file.json", "[]");
  std::filesystem::resize_file(folder_ / "file.json", (std::uintmax_t{256} << 20) + 1);
  try {
    read_json_file(folder_ / "file.json", "plan");
    FAIL() << "nothing was refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("268435457 bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace samegrad
