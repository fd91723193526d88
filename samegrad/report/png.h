// PNG from SVG by the program rsvg-convert.
#pragma once

#include <filesystem>
#include <string>

namespace samegrad {

/// Writes `png` from `svg` (twice its size in pixels). Returns "" when done, else one line that says why there is no
/// PNG: rsvg-convert is not installed (and which package has it), or how it ended. Never a partial file. Local.
std::string convert_to_png(const std::filesystem::path& svg, const std::filesystem::path& png);

}  // namespace samegrad
