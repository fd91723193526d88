#include "samegrad/checkpoint/strict_json.h"

#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

std::string refusal(const std::string& bytes) {
  return error_text<CheckError>([&] { parse_strict_json(bytes, "f.json"); });
}

TEST(StrictJson, ReadsWhatIsClearAndKeepsOrderAndBits) {
  const Json value = parse_strict_json(R"({"b": [1, {"x": 1}, {"x": 2}], "a": 0.1})", "f.json");
  EXPECT_EQ(value.dump(), R"({"b":[1,{"x":1},{"x":2}],"a":0.1})");
}

TEST(StrictJson, RefusesAKeyTwiceInOneObjectWhereAPlainParserKeepsTheLast) {
  const std::string text = R"({"a": {"update": 1, "update": 2}})";
  EXPECT_EQ(Json::parse(text)["a"]["update"], 2);
  EXPECT_EQ(refusal(text), "[checkpoint] f.json: key 'update' twice in one object");
}

TEST(StrictJson, RefusesWhatStandsBehindANulWhereAPlainParserStops) {
  const std::string text("{}\0{}", 5);
  EXPECT_EQ(Json::parse(text), Json::object());
  EXPECT_NE(refusal(text).find("NUL"), std::string::npos);
}

TEST(StrictJson, RefusesDepthTextAroundAndBadUtf8) {
  EXPECT_NE(refusal(std::string(1'000'000, '[')).find("deeper than 100"), std::string::npos);
  EXPECT_NE(refusal("{} x").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal("").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal("[\"\xFF\"]").find("not JSON"), std::string::npos);
  EXPECT_NE(refusal("[1e999]").find("not JSON"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
