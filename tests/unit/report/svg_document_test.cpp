#include <gtest/gtest.h>

#include <limits>

#include "samegrad/report/svg/document.h"
#include "samegrad/report/svg/text_width.h"
#include "xml_check.h"

namespace samegrad::svg {
namespace {

TEST(XmlCheck, RejectsWhatIsNotWellFormed) {
  const std::string head = "<?xml version=\"1.0\"?>";
  EXPECT_EQ(xml_problem(head + "<a b=\"1\"><c/>t &amp; u</a>"), "");
  for (const char* broken : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a b=\"<\"/>",
                             "<a/><b/>", "<a/>text", "<a>\x01</a>", ""}) {
    EXPECT_NE(xml_problem(head + broken), "") << broken;
  }
}

TEST(SvgDocument, EscapesNamesFromOutside) {
  SvgDocument document(100, 50, "a < b & \"c\"");
  document.text({1, 2}, "<script>alert(1)</script> & \x1b \xFF", {});
  EXPECT_EQ(xml_problem(document.str()), "");
  EXPECT_EQ(document.str().find("<script"), std::string::npos);
  EXPECT_NE(document.str().find("&lt;script&gt;"), std::string::npos);
}

TEST(SvgDocument, DrawsEveryElementWellFormed) {
  SvgDocument document(100, 50, "t");
  document.line({0, 0}, {1, 1}, {"#000000", 1.0, "3 2"});
  document.polyline(std::vector<Point>{{0, 0}, {1, 2}, {3, 1}}, {"#000000", 1.0, ""});
  document.rectangle({1, 1, -5, 2}, "#ffffff");
  for (const Marker marker : {Marker::kNone, Marker::kCircle, Marker::kSquare, Marker::kTriangle, Marker::kDiamond}) {
    document.marker({5, 5}, marker, 6, "#123456", false);
  }
  document.text({5, 5}, "x", {.anchor = Anchor::kEnd, .bold = true, .upwards = true, .halo = true});
  EXPECT_EQ(xml_problem(document.str()), "");
  EXPECT_NE(document.str().find("font-family=\"sans-serif\""), std::string::npos);
  EXPECT_EQ(document.str().find("width=\"-"), std::string::npos);
}

TEST(SvgDocument, CoordinatesAreShortAndAlwaysNumbers) {
  EXPECT_EQ(coordinate(1.0), "1");
  EXPECT_EQ(coordinate(1.256), "1.26");
  EXPECT_EQ(coordinate(-0.001), "0");
  EXPECT_EQ(coordinate(100.0), "100");
  EXPECT_EQ(coordinate(std::numeric_limits<double>::quiet_NaN()), "0");
}

TEST(TextWidth, GrowsWithTextAndSize) {
  EXPECT_EQ(text_width("", 12), 0.0);
  EXPECT_GT(text_width("mm", 12), text_width("ii", 12));
  EXPECT_DOUBLE_EQ(text_width("abc", 24), 2.0 * text_width("abc", 12));
}

}  // namespace
}  // namespace samegrad::svg
