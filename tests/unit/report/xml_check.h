// Whether a text is well-formed XML of the kind that an SVG is: for tests.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

/// "" or what is wrong: elements that do not nest, attributes without quotes or twice, stray '&' or '<', text after the
/// root. Knows elements, attributes, text, the XML declaration and the five entities.
std::string xml_problem(std::string_view xml);

}  // namespace samegrad
