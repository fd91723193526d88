#include "samegrad/report/display_width.h"

#include <gtest/gtest.h>

#include "samegrad/report/utf8.h"

namespace samegrad {
namespace {

TEST(DisplayWidth, CountsCellsNotBytes) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("plain"), 5);
  EXPECT_EQ(display_width("größe"), 5);
  EXPECT_EQ(display_width("数据"), 4);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);  // e and a combining acute
  EXPECT_EQ(display_width("🚀"), 2);
}

TEST(DisplayWidth, NoTextSteersTheTerminal) {
  for (const DisplayCharacter& character : display_characters("a\x1b[31m\r\n\t\x7f\xC2\x9b\xE2\x80\xAE")) {
    const auto first = static_cast<unsigned char>(character.bytes.front());
    EXPECT_GE(first, 0x20U);
    EXPECT_NE(first, 0x7FU);
    EXPECT_NE(character.bytes, "\xC2\x9b");      // CSI as one C1 character
    EXPECT_NE(character.bytes, "\xE2\x80\xAE");  // right-to-left override
  }
  EXPECT_EQ(display_characters("\x1b").front().bytes, "\xEF\xBF\xBD");
}

struct Utf8Case {
  const char* bytes;
  bool valid;
  std::size_t taken;
};

class TakeUtf8 : public testing::TestWithParam<Utf8Case> {};

TEST_P(TakeUtf8, AcceptsExactlyRfc3629) {
  std::string_view text = GetParam().bytes;
  const std::size_t before = text.size();
  const Utf8Character character = take_utf8(text);
  EXPECT_EQ(character.valid, GetParam().valid);
  EXPECT_EQ(before - text.size(), GetParam().taken);
}

INSTANTIATE_TEST_SUITE_P(Edges, TakeUtf8,
                         testing::Values(Utf8Case{"a", true, 1}, Utf8Case{"\xC2\x80", true, 2},
                                         Utf8Case{"\xE0\xA0\x80", true, 3}, Utf8Case{"\xED\x9F\xBF", true, 3},
                                         Utf8Case{"\xF0\x90\x80\x80", true, 4}, Utf8Case{"\xF4\x8F\xBF\xBF", true, 4},
                                         Utf8Case{"\x80", false, 1}, Utf8Case{"\xC1\xBF", false, 1},  // overlong
                                         Utf8Case{"\xE0\x9F\xBF", false, 1},                          // overlong
                                         Utf8Case{"\xED\xA0\x80", false, 1},                          // surrogate
                                         Utf8Case{"\xF0\x8F\xBF\xBF", false, 1},                      // overlong
                                         Utf8Case{"\xF4\x90\x80\x80", false, 1},                      // above U+10FFFF
                                         Utf8Case{"\xF5\x80\x80\x80", false, 1},  // no such first byte
                                         Utf8Case{"\xE2\x82", false, 1},          // cut
                                         Utf8Case{"\xE2\x28\xA1", false, 1}));    // no continuation

}  // namespace
}  // namespace samegrad
