#include "samegrad/report/wrap.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksAtBlanks) { EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"})); }

TEST(Wrap, KeepsATextThatFits) { EXPECT_EQ(wrap("a   b", 10), Lines{"a   b"}); }

TEST(Wrap, BreaksLongNamesAfterTheirJoints) {
  EXPECT_EQ(wrap("encoder.layers.0.self_attn", 16), (Lines{"encoder.layers.", "0.self_attn"}));
}

TEST(Wrap, CutsAWordWithoutJointsWhereItMust) { EXPECT_EQ(wrap("abcdefgh", 3), (Lines{"abc", "def", "gh"})); }

TEST(Wrap, NoLineIsWiderThanAskedAndNoLetterIsLost) {
  const std::string text = "in encoder.layers.1.self_attn.out_proj.bias[3], 数据数据数据 größe_größe and more";
  std::string letters;
  for (const char c : text) letters += c == ' ' ? "" : std::string(1, c);
  for (std::int64_t cells = 2; cells < 80; ++cells) {
    std::string joined;
    for (const std::string& line : wrap(text, cells)) {
      EXPECT_LE(display_width(line), cells);
      for (const char c : line) joined += c == ' ' ? "" : std::string(1, c);
    }
    EXPECT_EQ(joined, letters) << cells;
  }
}

TEST(Wrap, EmptyTextIsOneEmptyLine) { EXPECT_EQ(wrap("", 5), Lines{""}); }

}  // namespace
}  // namespace samegrad
