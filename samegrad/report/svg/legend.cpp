#include "samegrad/report/svg/plot_frame.h"
#include "samegrad/report/svg/text_width.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad::svg {

double draw_legend(SvgDocument& document, Point top_left, double width, std::span<const LegendEntry> legend) {
  constexpr double kRow = 20.0;
  constexpr double kGap = 22.0;
  constexpr double kSize = 13.0;
  if (legend.empty()) return 0.0;
  double x = top_left.x;
  double y = top_left.y + kRow / 2.0;
  for (const LegendEntry& entry : legend) {
    const SeriesLook& look = entry.look;
    const double sample = look.line_width > 0.0 && !look.box ? 34.0 : 18.0;
    const double needed = sample + 6.0 + text_width(entry.name, kSize);
    if (x != top_left.x && x + needed > top_left.x + width) {
      x = top_left.x;
      y += kRow;
    }
    if (look.box) {
      document.rectangle({x, y - 6.0, sample, 12.0}, look.colour);
    } else if (look.line_width > 0.0) {
      document.line({x, y}, {x + sample, y}, {look.colour, look.line_width, look.dashes});
    }
    document.marker({x + sample / 2.0, y}, look.marker, look.marker_size, look.colour, look.filled);
    document.text({x + sample + 6.0, y + 4.5}, entry.name, {.size = kSize, .colour = kInk});
    x += needed + kGap;
  }
  return y + kRow / 2.0 - top_left.y;
}

}  // namespace samegrad::svg
