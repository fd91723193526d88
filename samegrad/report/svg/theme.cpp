#include "samegrad/report/svg/theme.h"

#include <array>

#include "samegrad/report/svg/text_width.h"
#include "samegrad/report/wrap.h"

namespace samegrad::svg {

const char* series_colour(std::size_t series) {
  constexpr std::array kColours{kBlue, kOrange, kGreen, kPurple, "#6b4e16", "#0b7285", "#a61e4d", "#3b3b3b"};
  return kColours.at(series % kColours.size());
}

Marker series_marker(std::size_t series) {
  constexpr std::array kMarkers{Marker::kCircle, Marker::kSquare, Marker::kTriangle, Marker::kDiamond};
  return kMarkers.at(series % kMarkers.size());
}

Area draw_title(SvgDocument& document, std::string_view title, std::string_view subtitle) {
  constexpr double kMargin = 20.0;
  constexpr double kSubtitleSize = 13.0;
  const Area all = document.area();
  document.text({kMargin, 32.0}, title, {.size = 19.0, .colour = kInk, .bold = true});
  double bottom = 38.0;
  // The average letter of a sentence is narrower than a digit: half an em and a bit.
  const auto letters = static_cast<std::int64_t>((all.width - 2.0 * kMargin) / (0.56 * kSubtitleSize));
  for (const std::string& line : wrap(subtitle, letters)) {
    bottom += 17.0;
    document.text({kMargin, bottom}, line, {.size = kSubtitleSize, .colour = kQuietInk});
  }
  bottom += 12.0;
  return {kMargin, bottom, all.width - 2.0 * kMargin, all.height - bottom - 14.0};
}

}  // namespace samegrad::svg
