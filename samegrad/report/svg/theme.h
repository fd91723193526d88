// One look for all figures: colours that keep their contrast on white (at least 4.5 to 1) and stay apart for the
// colour-blind, always together with a dash or a marker.
#pragma once

#include <cstddef>

#include "samegrad/report/svg/document.h"

namespace samegrad::svg {

inline constexpr double kFigureWidth = 900.0;
inline constexpr double kFigureHeight = 540.0;

inline constexpr const char* kInk = "#1a1a1a";
inline constexpr const char* kQuietInk = "#4a4a4a";
inline constexpr const char* kAxisColour = "#6b6b6b";
inline constexpr const char* kGridColour = "#e3e3e3";

inline constexpr const char* kBlue = "#0060a8";
inline constexpr const char* kOrange = "#b84300";
inline constexpr const char* kGreen = "#00724f";
inline constexpr const char* kPurple = "#8a3a9b";
inline constexpr const char* kPaleBlue = "#a9cdec";

/// Colour, dash and marker of the series with this number; repeats after many.
const char* series_colour(std::size_t series);
Marker series_marker(std::size_t series);

/// Title and subtitle at the top of a figure; returns what is left below. Local.
Area draw_title(SvgDocument& document, std::string_view title, std::string_view subtitle);

}  // namespace samegrad::svg
