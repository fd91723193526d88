#include "samegrad/data/stream_cutter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "samegrad/data/byte_tokens.h"
#include "samegrad/data/utf8.h"

namespace samegrad {
namespace {

struct Piece {
  std::string bytes;
  std::int64_t offset;
  std::int64_t line;
  bool end_token;
};

class Collector : public ScanVisitor {
 public:
  void on_sample(const FoundSample& found) override {
    pieces.push_back({std::string(found.bytes), found.offset, found.line, found.end_token});
  }
  void on_blank_line() override { FAIL() << "a stream has no blank lines to skip"; }
  void on_bad_line(std::int64_t line, std::string_view /*reason*/) override { bad_lines.push_back(line); }

  std::vector<Piece> pieces;
  std::vector<std::int64_t> bad_lines;
};

Collector cut(const std::string& bytes, std::int64_t context, std::size_t chunk) {
  Collector found;
  StreamCutter cutter(context, found);
  for (std::size_t begin = 0; begin < bytes.size(); begin += chunk) {
    cutter.add(std::string_view(bytes).substr(begin, chunk), static_cast<std::int64_t>(begin));
  }
  cutter.end();
  return found;
}

std::vector<std::int32_t> all_tokens(const Collector& found) {
  std::vector<std::int32_t> tokens;
  for (const Piece& piece : found.pieces) {
    TokenSequence sequence;
    txt_tokens(piece.bytes, piece.end_token, sequence);
    tokens.insert(tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
  }
  return tokens;
}

/// The stream's tokens by plain text replacement.
std::vector<std::int32_t> expected_tokens(std::string text) {
  for (std::size_t place = text.find("\r\n"); place != std::string::npos; place = text.find("\r\n", place)) {
    text.erase(place, 1);
  }
  if (text.ends_with('\n')) text.pop_back();
  std::vector<std::int32_t> tokens(text.begin(), text.end());
  if (!tokens.empty()) tokens.push_back(kEndToken);
  return tokens;
}

TEST(StreamCutter, GivesEveryTokenOnceInPiecesOfTheContextWhateverTheChunk) {
  EXPECT_TRUE(rc::check([] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::element('a', '\r', '\n', 'b', ' '));
    const auto context = *rc::gen::inRange<std::int64_t>(2, 7);
    const Collector found = cut(bytes, context, *rc::gen::inRange<std::size_t>(1, 9));
    RC_ASSERT(found.bad_lines.empty());
    RC_ASSERT(all_tokens(found) == expected_tokens(bytes));
    for (std::size_t i = 0; i < found.pieces.size(); ++i) {
      const Piece& piece = found.pieces[i];
      TokenSequence sequence;
      txt_tokens(piece.bytes, piece.end_token, sequence);
      const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
      const bool last = i + 1 == found.pieces.size();
      RC_ASSERT(piece.end_token == last);
      RC_ASSERT((last ? tokens <= context : tokens == context));
      RC_ASSERT(bytes.substr(static_cast<std::size_t>(piece.offset), piece.bytes.size()) == piece.bytes);
      const auto before = bytes.begin() + piece.offset;
      RC_ASSERT(piece.line == 1 + std::count(bytes.begin(), before, '\n') || piece.bytes.empty());
    }
  }));
}

TEST(StreamCutter, CutsBetweenTheBytesOfACharacterWithoutCallingThemBad) {
  const std::string text = "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA4";
  for (std::int64_t context = 2; context < 10; ++context) {
    const Collector found = cut(text, context, 2);
    EXPECT_TRUE(found.bad_lines.empty()) << context;
    EXPECT_EQ(all_tokens(found).size(), text.size() + 1);
  }
}

TEST(StreamCutter, LeavesOutThePieceWithBadUtf8AndNamesItsLine) {
  const Collector found = cut("abcd\nefg\xFF\nhijk", 5, 3);
  ASSERT_EQ(found.bad_lines, std::vector<std::int64_t>{2});
  ASSERT_EQ(found.pieces.size(), 2U);
  EXPECT_EQ(found.pieces[0].bytes, "abcd\n");
  EXPECT_EQ(found.pieces[1].bytes, "hijk");
  EXPECT_EQ(found.pieces[1].line, 3);
}

TEST(StreamCutter, CallsACharacterThatTheFileCutsOffBad) {
  EXPECT_EQ(cut("ab\ncd\xE2\x82", 3, 4).bad_lines, std::vector<std::int64_t>{2});
}

}  // namespace
}  // namespace samegrad
