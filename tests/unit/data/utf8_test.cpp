#include "samegrad/data/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace samegrad {
namespace {

using std::string_literals::operator""s;

TEST(Utf8, AcceptsEveryLengthOfCharacterAndNul) {
  for (const std::string& text :
       {""s, "abc"s, "\0"s, "\xC3\xA4"s, "\xE2\x82\xAC"s, "\xF0\x9F\x98\x80"s, "\xF4\x8F\xBF\xBF"s}) {
    EXPECT_TRUE(is_valid_utf8(text));
  }
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndBrokenSequences) {
  for (const std::string& text : {"\xFF"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x80\x80"s, "\xF0\x80\x80\x80"s,
                                  "\xED\xA0\x80"s, "\xED\xBF\xBF"s, "\xF4\x90\x80\x80"s, "\x80"s, "\xC3"s, "\xE2\x82"s,
                                  "\xC3"
                                  "a"s}) {
    EXPECT_FALSE(is_valid_utf8(text));
    EXPECT_FALSE(is_valid_utf8(std::string(100, 'a') + text + std::string(100, 'a')));
  }
}

TEST(Utf8, TailIsWhatFurtherBytesWouldComplete) {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  const std::size_t tails[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0};
  for (std::size_t length = 0; length <= text.size(); ++length) {
    EXPECT_EQ(unfinished_utf8_tail(std::string_view(text).substr(0, length)), tails[length]) << length;
  }
}

}  // namespace
}  // namespace samegrad
