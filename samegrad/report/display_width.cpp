#include "samegrad/report/display_width.h"

#include <algorithm>
#include <array>

#include "samegrad/report/utf8.h"

namespace samegrad {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// The blocks of combining marks, joiners and variation selectors (Unicode 15, general categories Mn, Me, Cf) that occur
// in text of the wide-spread scripts.
constexpr std::array kZeroWidth{
    CodeRange{0x0300, 0x036F}, CodeRange{0x0483, 0x0489}, CodeRange{0x0591, 0x05BD}, CodeRange{0x064B, 0x065F},
    CodeRange{0x0E34, 0x0E3A}, CodeRange{0x0E47, 0x0E4E}, CodeRange{0x1AB0, 0x1AFF}, CodeRange{0x1DC0, 0x1DFF},
    CodeRange{0x200B, 0x200F}, CodeRange{0x202A, 0x202E}, CodeRange{0x2060, 0x2064}, CodeRange{0x20D0, 0x20FF},
    CodeRange{0xFE00, 0xFE0F}, CodeRange{0xFE20, 0xFE2F}, CodeRange{0xFEFF, 0xFEFF}, CodeRange{0xE0100, 0xE01EF}};

// Blocks that are East Asian Wide or Fullwidth, and the emoji blocks.
constexpr std::array kDoubleWidth{
    CodeRange{0x1100, 0x115F},   CodeRange{0x2E80, 0x303E},   CodeRange{0x3041, 0x33FF},  CodeRange{0x3400, 0x4DBF},
    CodeRange{0x4E00, 0x9FFF},   CodeRange{0xA000, 0xA4CF},   CodeRange{0xAC00, 0xD7A3},  CodeRange{0xF900, 0xFAFF},
    CodeRange{0xFE30, 0xFE6F},   CodeRange{0xFF00, 0xFF60},   CodeRange{0xFFE0, 0xFFE6},  CodeRange{0x1F300, 0x1F64F},
    CodeRange{0x1F680, 0x1F6FF}, CodeRange{0x1F900, 0x1F9FF}, CodeRange{0x20000, 0x3FFFD}};

template <std::size_t N>
bool in_any(const std::array<CodeRange, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

std::int64_t cells_of(char32_t code) {
  if (in_any(kZeroWidth, code)) return 0;
  return in_any(kDoubleWidth, code) ? 2 : 1;
}

// C0, DEL, C1, and the bidirectional overrides that reorder what stands around them.
bool steers_terminal(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::vector<DisplayCharacter> display_characters(std::string_view text) {
  std::vector<DisplayCharacter> result;
  while (!text.empty()) {
    const Utf8Character character = take_utf8(text);
    if (!character.valid || steers_terminal(character.code)) {
      result.push_back({"\xEF\xBF\xBD", 1});
    } else {
      result.push_back({std::string(character.bytes), cells_of(character.code)});
    }
  }
  return result;
}

std::int64_t display_width(std::string_view text) {
  std::int64_t cells = 0;
  for (const DisplayCharacter& character : display_characters(text)) cells += character.cells;
  return cells;
}

}  // namespace samegrad
