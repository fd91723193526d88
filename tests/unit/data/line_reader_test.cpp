#include "samegrad/data/line_reader.h"

#include <rapidcheck.h>

#include <vector>

#include "samegrad/base/digest.h"
#include "tests/unit/data/data_fixture.h"
#include "tests/unit/data/memory_file.h"

namespace samegrad {
namespace {

using std::string_view_literals::operator""sv;

struct FoundLine {
  std::string text;
  std::int64_t offset;
  std::int64_t number;

  bool operator==(const FoundLine&) const = default;
};

class Lines : public DataFixture {
 protected:
  std::vector<FoundLine> lines_of(const std::string& bytes, std::size_t chunk_bytes) const {
    const DataFile file(write("lines.txt", bytes));
    FileChunks chunks(file, chunk_bytes);
    LineReader reader(chunks);
    std::vector<FoundLine> found;
    Line line;
    while (reader.next(line)) {
      EXPECT_FALSE(line.too_long);
      found.push_back({std::string(line.text), line.offset, line.number});
    }
    EXPECT_EQ(chunks.bytes(), static_cast<std::int64_t>(bytes.size()));
    EXPECT_EQ(chunks.sha256(), sha256_hex(bytes));
    return found;
  }
};

TEST_F(Lines, EndWithLfCrlfOrTheFileAndBeginAfterAByteOrderMark) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"
                     "ab\n\r\n"
                     "c\rd\ne\r",
                     4),
            (std::vector<FoundLine>{{"ab", 3, 1}, {"", 6, 2}, {"c\rd", 8, 3}, {"e\r", 12, 4}}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBF", 4), std::vector<FoundLine>{});
  EXPECT_EQ(lines_of("", 4), std::vector<FoundLine>{});
  EXPECT_EQ(lines_of("\n", 4), (std::vector<FoundLine>{{"", 0, 1}}));
}

TEST_F(Lines, AreThoseOfASplitWhateverTheChunk) {
  EXPECT_TRUE(rc::check([&] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::element('a', '\r', '\n', ' ', 'b'));
    const auto chunk_bytes = *rc::gen::inRange<std::size_t>(4, 12);
    std::vector<FoundLine> expected;
    std::size_t begin = 0;
    while (begin < bytes.size()) {
      const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
      std::string text = bytes.substr(begin, end - begin);
      if (end < bytes.size() && !text.empty() && text.back() == '\r') text.pop_back();
      expected.push_back({text, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(expected.size()) + 1});
      begin = end + 1;
    }
    RC_ASSERT(lines_of(bytes, chunk_bytes) == expected);
  }));
}

TEST_F(Lines, LongerThan64MiBAreMarkedAndTheNextOneIsReadAgain) {
  const std::string longest(static_cast<std::size_t>(kLongestLine), 'x');
  MemoryFile long_lines;
  for (const std::string_view bytes : {std::string_view(longest), "\n"sv, std::string_view(longest), "x\nend"sv}) {
    long_lines.append(bytes);
  }
  const DataFile file(long_lines.path());
  FileChunks chunks(file);
  LineReader reader(chunks);
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(line.too_long);
  EXPECT_EQ(line.text.size(), longest.size());
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(line.too_long);
  EXPECT_TRUE(line.text.empty());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "end");
  EXPECT_EQ(line.number, 3);
  EXPECT_FALSE(reader.next(line));
}

}  // namespace
}  // namespace samegrad
