#include "samegrad/launch/output_lines.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

/// What is shown of `text` when it comes in pieces of `step` bytes.
std::string shown(const std::string& text, std::size_t step = 1'000'000) {
  OutputLines lines("[rank 1] ");
  std::string out;
  for (std::size_t begin = 0; begin < text.size(); begin += step) {
    lines.take(std::string_view(text).substr(begin, step), out);
  }
  lines.finish(out);
  return out;
}

TEST(OutputLines, EveryLineHasThePrefixHoweverItArrives) {
  for (const std::size_t step : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(shown("one\n\ntwo\n", step), "[rank 1] one\n[rank 1] \n[rank 1] two\n") << step;
    EXPECT_EQ(shown("dos\r\nend", step), "[rank 1] dos\r\n[rank 1] end\n") << step;
  }
}

TEST(OutputLines, AProgressBarGoesOnOverwritingItself) {
  for (const std::size_t step : {1U, 3U, 100U}) {
    EXPECT_EQ(shown("\r 10%\r 20%\r100%\ndone\n", step),
              "\r[rank 1]  10%\r[rank 1]  20%\r[rank 1] 100%\n[rank 1] done\n")
        << step;
  }
}

TEST(OutputLines, AnUnfinishedLineWaitsForItsEnd) {
  OutputLines lines("> ");
  std::string out;
  lines.take("half", out);
  EXPECT_EQ(out, "");
  lines.take(" and half\n", out);
  EXPECT_EQ(out, "> half and half\n");
}

TEST(OutputLines, ALineThatNeverEndsIsCut) {
  const std::string text(3 * kLongestLine + 5, 'x');
  const std::string whole = "[rank 1] " + std::string(kLongestLine, 'x') + "\n";
  EXPECT_EQ(shown(text, 1'000), whole + whole + whole + "[rank 1] xxxxx\n");
  EXPECT_EQ(shown(std::string(kLongestLine, 'x') + "\n"), whole);
}

TEST(OutputLines, TheLastLineIsKeptWithoutWhatATerminalWouldObey) {
  OutputLines lines("");
  std::string out;
  lines.take("first\nValueError: \x1b[31mboom\n\n", out);
  EXPECT_EQ(lines.last_line(), "ValueError:  [31mboom");
}

}  // namespace
}  // namespace samegrad
