#include "samegrad/report/svg/text_width.h"

#include "samegrad/report/display_width.h"

namespace samegrad::svg {
namespace {

// Advance widths of DejaVu Sans in ems, by kind of letter.
double ems(char letter) {
  constexpr std::string_view kNarrow = "ijl.,:;|!'()[] ft-";
  constexpr std::string_view kWide = "mwMW%@";
  if (kNarrow.find(letter) != std::string_view::npos) return 0.38;
  if (kWide.find(letter) != std::string_view::npos) return 0.95;
  return letter >= 'A' && letter <= 'Z' ? 0.70 : 0.63;
}

}  // namespace

double text_width(std::string_view text, double font_size) {
  double width = 0.0;
  for (const DisplayCharacter& character : display_characters(text)) {
    width += character.bytes.size() == 1 ? ems(character.bytes.front()) : 0.75 * static_cast<double>(character.cells);
  }
  return width * font_size;
}

}  // namespace samegrad::svg
