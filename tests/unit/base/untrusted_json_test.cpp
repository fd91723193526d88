#include "samegrad/base/untrusted_json.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_untrusted_json(text);
  } catch (const JsonRefused& refused) {
    return refused.what();
  }
  return "nothing was refused";
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(UntrustedJson, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  EXPECT_EQ(refusal(R"({"a":1,"b":{"c":1,"c":2}})"), "key 'c' twice in one object");
  EXPECT_EQ(refusal(R"({"a":1,"\u0061":2})"), "key 'a' twice in one object");
  EXPECT_EQ(refusal(std::string_view("{}\0{}", 5)), "it holds a NUL byte");
  EXPECT_TRUE(refusal("{}{}").starts_with("not JSON: "));
  EXPECT_TRUE(refusal("[1e999]").starts_with("not JSON: "));
  EXPECT_EQ(parse_untrusted_json(R"([{"a":1},{"a":1}])").size(), 2);
}

TEST(UntrustedJson, DepthAndNumberOfValuesAreBounded) {
  EXPECT_EQ(parse_untrusted_json(repeated("[", 100) + repeated("]", 100)).size(), 1);
  EXPECT_EQ(refusal(repeated("[", 101) + repeated("]", 101)), "nested deeper than 100");
  EXPECT_EQ(parse_untrusted_json("[" + repeated("0,", 999'998) + "0]").size(), 999'999);
  EXPECT_EQ(refusal("[" + repeated("0,", 999'999) + "0]"), "more than 1000000 values");
}

TEST(UntrustedJson, ATextIsBoundedUnlessAMemberIsLeftOut) {
  const std::string spaces((32 << 20) - 1, ' ');
  EXPECT_EQ(parse_untrusted_json("7" + spaces), 7);
  EXPECT_EQ(refusal("7" + spaces + " "), "33554433 bytes; JSON has at most 33554432");
  EXPECT_EQ(parse_untrusted_json("7" + spaces + " ", "plan"), 7);
}

TEST(UntrustedJson, AReasonIsOneShortLineOfAscii) {
  for (const std::string& text : {"\"" + std::string(1'000'000, 'x'), std::string("\x1b[2J\n\xff"),
                                  std::string("{\"a\x1b\":1"), "{\"" + std::string(5'000, '\xc3') + "\":1}"}) {
    const std::string reason = refusal(text);
    EXPECT_LE(reason.size(), 203);
    for (const char c : reason) EXPECT_TRUE(c >= ' ' && c <= '~') << reason;
  }
}

TEST(UntrustedJson, TheMemberThatIsLeftOutIsCheckedAndNotKept) {
  const Json left = parse_untrusted_json(R"({"updates":2,"plan":[[1],{"a":2}],"digest":{"plan":3}})", "plan");
  EXPECT_EQ(left, (Json{{"updates", 2}, {"digest", {{"plan", 3}}}}));
  EXPECT_EQ(refusal(R"({"plan":1,"plan":2})"), "key 'plan' twice in one object");
}

TEST(UntrustedJson, AWholeNumberIsOneThatItsTypeHolds) {
  EXPECT_EQ(whole_number(Json::parse("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(whole_number(Json::parse("7"), 0, 7), 7);
  for (const char* text :
       {"9223372036854775808", "18446744073709551615", "1.0", "1e300", "\"1\"", "null", "true", "[]"}) {
    EXPECT_THROW(whole_number(Json::parse(text)), JsonRefused) << text;
  }
  EXPECT_THROW(whole_number(8, 0, 7), JsonRefused);
  EXPECT_THROW(whole_number(-1, 0, 7), JsonRefused);
}

}  // namespace
}  // namespace samegrad
