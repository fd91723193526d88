#include "samegrad/report/wrap.h"

#include <algorithm>

namespace samegrad {
namespace {

struct Line {
  std::string text;
  std::int64_t cells = 0;
};

bool is_joint(const DisplayCharacter& character) {
  return character.bytes == "." || character.bytes == "/" || character.bytes == "_" || character.bytes == "-";
}

// How many of the characters from `first` on fit into `cells`; ends after a joint where the word goes on and has one.
std::size_t fitting(const std::vector<DisplayCharacter>& word, std::size_t first, std::int64_t cells) {
  std::size_t end = first;
  std::int64_t used = 0;
  while (end < word.size() && used + word[end].cells <= cells) used += word[end++].cells;
  if (end == word.size()) return end - first;
  for (std::size_t joint = end; joint > first; --joint) {
    if (is_joint(word[joint - 1])) return joint - first;
  }
  return end - first;
}

// Appends one word; starts new lines where it does not fit.
void add_word(std::vector<Line>& lines, std::string_view word, std::int64_t most) {
  const std::vector<DisplayCharacter> characters = display_characters(word);
  const std::int64_t blank = lines.back().cells == 0 ? 0 : 1;
  if (lines.back().cells + blank + display_width(word) <= most) {
    lines.back().text.append(static_cast<std::size_t>(blank), ' ');
    lines.back().cells += blank;
  } else if (lines.back().cells != 0) {
    lines.emplace_back();
  }
  for (std::size_t first = 0; first < characters.size();) {
    if (first != 0) lines.emplace_back();
    const std::size_t count = fitting(characters, first, most - lines.back().cells);
    for (std::size_t i = first; i < first + count; ++i) {
      lines.back().text += characters[i].bytes;
      lines.back().cells += characters[i].cells;
    }
    first += count;
  }
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::int64_t cells) {
  const std::int64_t most = std::max<std::int64_t>(cells, 2);  // a wide character must fit
  std::vector<Line> lines(1);
  // A text that fits is kept as it is, with its runs of blanks.
  if (display_width(text) <= most && text.find('\n') == std::string_view::npos) {
    for (const DisplayCharacter& character : display_characters(text)) lines.back().text += character.bytes;
    return {lines.back().text};
  }
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    if (end != 0) add_word(lines, text.substr(0, end), most);
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') lines.emplace_back();
    text.remove_prefix(end + 1);
  }
  std::vector<std::string> result;
  result.reserve(lines.size());
  for (Line& line : lines) result.push_back(std::move(line.text));
  return result;
}

}  // namespace samegrad
