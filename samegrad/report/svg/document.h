// An SVG picture as text. The same calls give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace samegrad::svg {

/// Pixels from the upper left corner.
struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Area {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct Stroke {
  std::string colour{};  ///< "#rrggbb"
  double width = 1.0;
  std::string dashes{};  ///< stroke-dasharray; empty: solid
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextLook {
  double size = 13.0;
  std::string colour = "#1a1a1a";
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  bool upwards = false;  ///< turned a quarter against the clock
  bool halo = false;     ///< a white rim, for text over lines
};

enum class Marker { kNone, kCircle, kSquare, kTriangle, kDiamond };

class SvgDocument {
 public:
  /// A white picture. `title` is read by screen readers.
  SvgDocument(double width, double height, std::string_view title);

  void line(Point from, Point to, const Stroke& stroke);
  void polyline(std::span<const Point> points, const Stroke& stroke);
  /// Negative sizes are drawn as none.
  void rectangle(const Area& area, std::string_view fill);
  /// `size` is the marker's width; `filled` false: white inside.
  void marker(Point centre, Marker shape, double size, std::string_view colour, bool filled);
  void text(Point at, std::string_view text, const TextLook& look);

  Area area() const { return {0.0, 0.0, width_, height_}; }
  /// The whole file.
  std::string str() const;

 private:
  void path(std::string_view data, std::string_view colour, bool filled);

  double width_;
  double height_;
  std::string body_;
};

/// A coordinate: at most two decimals, no trailing zeros, no "-0".
std::string coordinate(double value);

/// `text` for XML content and attributes. What XML 1.0 cannot hold, and bytes that are no UTF-8, become U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace samegrad::svg
