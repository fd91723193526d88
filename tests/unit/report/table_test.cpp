#include "samegrad/report/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "samegrad/report/display_width.h"

namespace samegrad {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({{"name"}, {"tokens", Align::kRight}});
  table.add_row({"größe", "9"});
  table.add_row({"b", "1,234"});
  EXPECT_EQ(table.render(),
            "name   tokens\n"
            "-----  ------\n"
            "größe       9\n"
            "b       1,234\n");
}

TEST(Table, WideCharactersTakeTwoCells) {
  Table table({{"a"}, {"b"}});
  table.add_row({"数据", "x"});
  table.add_row({"abcd", "y"});
  EXPECT_EQ(lines_of(table.render())[2], "数据  x");
  EXPECT_EQ(lines_of(table.render())[3], "abcd  y");
}

TEST(Table, StaysWithinTheWidthAndLosesNothing) {
  Table table({{"check"}, {"must be"}, {"measured"}, {"n", Align::kRight}});
  const std::string name = "encoder.layers.0.self_attn.out_proj.bias";
  for (int i = 0; i < 5; ++i) {
    table.add_row({"resume against the continuous run " + std::to_string(i), std::string(70, 'x'),
                   "some words and " + name + " and more words", "123,456"});
  }
  for (const std::int64_t cells : {60, 80, 100, 140}) {
    const std::string text = table.render(cells);
    std::int64_t letters = 0;
    for (const std::string& line : lines_of(text)) {
      EXPECT_LE(display_width(line), cells);
      letters += std::count(line.begin(), line.end(), 'x');
    }
    EXPECT_EQ(letters, 350);  // none of the names has an x
  }
}

TEST(Table, NarrowTablesAreNotStretched) {
  Table table({{"a"}, {"b"}});
  table.add_row({"1", "2"});
  EXPECT_EQ(lines_of(table.render())[0], "a  b");
}

TEST(Table, LinesHaveNoTrailingBlanks) {
  Table table({{"a"}, {"long title"}});
  table.add_row({"x", ""});
  for (const std::string& line : lines_of(table.render())) EXPECT_FALSE(line.ends_with(' '));
}

TEST(Table, ControlCharactersOfACellDoNotReachTheTerminal) {
  Table table({{"file"}});
  table.add_row({"\x1b[2Jgone\r"});
  EXPECT_EQ(table.render().find('\x1b'), std::string::npos);
  EXPECT_EQ(table.render().find('\r'), std::string::npos);
}

}  // namespace
}  // namespace samegrad
