#include "samegrad/report/svg/document.h"

#include <algorithm>
#include <cmath>

#include "samegrad/report/number_text.h"
#include "samegrad/report/utf8.h"

namespace samegrad::svg {
namespace {

constexpr double kRim = 1.6;  // of markers

std::string attribute(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_escaped(value) + "\"";
}

std::string attribute(const char* name, double value) { return attribute(name, coordinate(value)); }

std::string stroke_attributes(const Stroke& stroke) {
  std::string out = attribute("stroke", stroke.colour) + attribute("stroke-width", stroke.width);
  if (!stroke.dashes.empty()) out += attribute("stroke-dasharray", stroke.dashes);
  return out;
}

std::string pair_text(double x, double y) { return coordinate(x) + "," + coordinate(y); }

bool allowed_in_xml(char32_t code) {
  return code >= 0x20 ? code != 0xFFFE && code != 0xFFFF : code == 0x9 || code == 0xA || code == 0xD;
}

}  // namespace

std::string coordinate(double value) {
  std::string text = fixed(std::isfinite(value) ? value : 0.0, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character character = take_utf8(text);
    if (!character.valid || !allowed_in_xml(character.code)) {
      out += "\xEF\xBF\xBD";
    } else if (character.code == U'&') {
      out += "&amp;";
    } else if (character.code == U'<') {
      out += "&lt;";
    } else if (character.code == U'>') {
      out += "&gt;";
    } else if (character.code == U'"') {
      out += "&quot;";
    } else {
      out += character.bytes;
    }
  }
  return out;
}

SvgDocument::SvgDocument(double width, double height, std::string_view title) : width_(width), height_(height) {
  body_ = "<title>" + xml_escaped(title) + "</title>\n";
  rectangle({0.0, 0.0, width, height}, "#ffffff");
}

void SvgDocument::line(Point from, Point to, const Stroke& stroke) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) + attribute("y2", to.y) +
           stroke_attributes(stroke) + "/>\n";
}

void SvgDocument::polyline(std::span<const Point> points, const Stroke& stroke) {
  if (points.size() < 2) return;
  std::string list;
  for (const Point& point : points) list += (list.empty() ? "" : " ") + pair_text(point.x, point.y);
  body_ += R"(<polyline fill="none" stroke-linejoin="round")" + attribute("points", list) + stroke_attributes(stroke) +
           "/>\n";
}

void SvgDocument::rectangle(const Area& area, std::string_view fill) {
  body_ += "<rect" + attribute("x", area.left) + attribute("y", area.top) +
           attribute("width", std::max(0.0, area.width)) + attribute("height", std::max(0.0, area.height)) +
           attribute("fill", fill) + "/>\n";
}

void SvgDocument::path(std::string_view data, std::string_view colour, bool filled) {
  body_ += "<path" + attribute("d", data) + attribute("fill", filled ? colour : "#ffffff") +
           attribute("stroke", colour) + attribute("stroke-width", kRim) + "/>\n";
}

void SvgDocument::marker(Point centre, Marker shape, double size, std::string_view colour, bool filled) {
  const double r = size / 2.0;
  const double x = centre.x;
  const double y = centre.y;
  switch (shape) {
    case Marker::kNone:
      return;
    case Marker::kCircle:
      body_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", r) +
               attribute("fill", filled ? colour : "#ffffff") + attribute("stroke", colour) +
               attribute("stroke-width", kRim) + "/>\n";
      return;
    case Marker::kSquare:
      path("M" + pair_text(x - r, y - r) + "H" + coordinate(x + r) + "V" + coordinate(y + r) + "H" + coordinate(x - r) +
               "Z",
           colour, filled);
      return;
    case Marker::kTriangle:
      path("M" + pair_text(x, y - r) + "L" + pair_text(x + r, y + r) + "L" + pair_text(x - r, y + r) + "Z", colour,
           filled);
      return;
    case Marker::kDiamond:
      path("M" + pair_text(x, y - r) + "L" + pair_text(x + r, y) + "L" + pair_text(x, y + r) + "L" +
               pair_text(x - r, y) + "Z",
           colour, filled);
      return;
  }
}

void SvgDocument::text(Point at, std::string_view text, const TextLook& look) {
  std::string element = "<text" + attribute("x", at.x) + attribute("y", at.y) + attribute("font-size", look.size) +
                        attribute("fill", look.colour);
  if (look.anchor != Anchor::kStart)
    element += attribute("text-anchor", look.anchor == Anchor::kEnd ? "end" : "middle");
  if (look.bold) element += attribute("font-weight", "bold");
  if (look.upwards) element += attribute("transform", "rotate(-90 " + coordinate(at.x) + " " + coordinate(at.y) + ")");
  const std::string content = ">" + xml_escaped(text) + "</text>\n";
  // The rim is a text of its own below: not every renderer knows paint-order.
  if (look.halo) body_ += element + R"( stroke="#ffffff" stroke-width="4" stroke-linejoin="round")" + content;
  body_ += element + content;
}

std::string SvgDocument::str() const {
  const std::string width = coordinate(width_);
  const std::string height = coordinate(height_);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width +
         "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
         "\" font-family=\"sans-serif\" role=\"img\">\n" + body_ + "</svg>\n";
}

}  // namespace samegrad::svg
