// How wide a text will be, without a font at hand.
#pragma once

#include <string_view>

namespace samegrad::svg {

/// An estimate in pixels for a sans-serif font, on the wide side (DejaVu Sans), so that what is placed by it does not
/// touch. Local.
double text_width(std::string_view text, double font_size);

}  // namespace samegrad::svg
