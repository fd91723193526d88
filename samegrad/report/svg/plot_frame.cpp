#include "samegrad/report/svg/plot_frame.h"

#include <algorithm>

#include "samegrad/report/number_text.h"
#include "samegrad/report/svg/text_width.h"
#include "samegrad/report/svg/theme.h"

namespace samegrad::svg {
namespace {

constexpr double kTickSize = 12.0;
constexpr double kTitleSize = 13.0;
constexpr double kTickLength = 5.0;
constexpr double kTitleRoom = 22.0;

double widest_label(const ChartScale& scale) {
  double widest = 0.0;
  for (const Tick& tick : scale.ticks) widest = std::max(widest, text_width(tick.label, kTickSize));
  return widest;
}

// The second axis gets its own ticks over the same pixels.
ChartScale second_scale(const ChartScale& first, double factor) {
  return first.logarithmic ? log_scale(first.low * factor, first.high * factor, 8)
                           : linear_scale(first.low * factor, first.high * factor, 8, /*widen=*/false);
}

void draw_x_axis(SvgDocument& document, const PlotFrame& frame, const std::string& title) {
  const double bottom = frame.plot.bottom();
  for (const Tick& tick : frame.x.ticks) {
    const double x = frame.at(tick.value, frame.y.low).x;
    document.line({x, bottom}, {x, bottom + kTickLength}, {kAxisColour, 1.0, ""});
    document.text({x, bottom + 18.0}, tick.label, {.size = kTickSize, .colour = kInk, .anchor = Anchor::kMiddle});
  }
  document.text({frame.plot.left + frame.plot.width / 2.0, bottom + 37.0}, title,
                {.size = kTitleSize, .colour = kInk, .anchor = Anchor::kMiddle});
}

void draw_y_axis(SvgDocument& document, const PlotFrame& frame, const std::string& title, double title_x) {
  for (const Tick& tick : frame.y.ticks) {
    const double y = frame.at(frame.x.low, tick.value).y;
    document.line({frame.plot.left, y}, {frame.plot.right(), y}, {kGridColour, 1.0, ""});
    document.line({frame.plot.left - kTickLength, y}, {frame.plot.left, y}, {kAxisColour, 1.0, ""});
    document.text({frame.plot.left - 8.0, y + 4.0}, tick.label,
                  {.size = kTickSize, .colour = kInk, .anchor = Anchor::kEnd});
  }
  document.text({title_x, frame.plot.top + frame.plot.height / 2.0}, title,
                {.size = kTitleSize, .colour = kInk, .anchor = Anchor::kMiddle, .upwards = true});
}

void draw_second_axis(SvgDocument& document, const PlotFrame& frame, const ChartScale& scale, const std::string& title,
                      double title_x) {
  const double right = frame.plot.right();
  for (const Tick& tick : scale.ticks) {
    const double y = frame.plot.bottom() - scale.fraction(tick.value) * frame.plot.height;
    document.line({right, y}, {right + kTickLength, y}, {kAxisColour, 1.0, ""});
    document.text({right + 8.0, y + 4.0}, tick.label, {.size = kTickSize, .colour = kInk});
  }
  document.line({right, frame.plot.top}, {right, frame.plot.bottom()}, {kAxisColour, 1.0, ""});
  document.text({title_x, frame.plot.top + frame.plot.height / 2.0}, title,
                {.size = kTitleSize, .colour = kInk, .anchor = Anchor::kMiddle, .upwards = true});
}

}  // namespace

Point PlotFrame::at(double x_value, double y_value) const {
  return {plot.left + x.fraction(x_value) * plot.width, plot.bottom() - y.fraction(y_value) * plot.height};
}

PlotFrame draw_frame(SvgDocument& document, const Area& panel, const Axis& x, const Axis& y,
                     std::span<const LegendEntry> legend, const std::optional<SecondAxis>& second) {
  const double left_room = kTitleRoom + std::max(widest_label(y.scale), y.least_label_room) + 12.0;
  const ChartScale other = second ? second_scale(y.scale, second->factor) : ChartScale{};
  // Half of the last x label stands beyond the plot's end.
  const double right_room = second ? kTitleRoom + widest_label(other) + 12.0 : 16.0;
  const double legend_height =
      draw_legend(document, {panel.left + left_room, panel.top}, panel.width - left_room - right_room, legend);
  const double top_room = legend.empty() ? 6.0 : legend_height + 10.0;
  constexpr double kBottomRoom = 42.0;
  PlotFrame frame{{panel.left + left_room, panel.top + top_room, panel.width - left_room - right_room,
                   panel.height - top_room - kBottomRoom},
                  x.scale,
                  y.scale};
  draw_y_axis(document, frame, y.title, panel.left + 13.0);
  draw_x_axis(document, frame, x.title);
  if (second) draw_second_axis(document, frame, other, second->title, panel.right() - 4.0);
  const Stroke axis{kAxisColour, 1.0, ""};
  document.line({frame.plot.left, frame.plot.top}, {frame.plot.left, frame.plot.bottom()}, axis);
  document.line({frame.plot.left, frame.plot.bottom()}, {frame.plot.right(), frame.plot.bottom()}, axis);
  return frame;
}

void draw_vertical_mark(SvgDocument& document, const PlotFrame& frame, double x, std::string_view label) {
  const double at = frame.at(x, frame.y.low).x;
  document.line({at, frame.plot.top}, {at, frame.plot.bottom()}, {kQuietInk, 1.3, "5 4"});
  // On the side where there is room for the text.
  const bool right_half = at + 8.0 + text_width(label, kTickSize) > frame.plot.right();
  document.text(
      {right_half ? at - 6.0 : at + 6.0, frame.plot.top + 14.0}, label,
      {.size = kTickSize, .colour = kQuietInk, .anchor = right_half ? Anchor::kEnd : Anchor::kStart, .halo = true});
}

}  // namespace samegrad::svg
