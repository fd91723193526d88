// Which known name a mistyped one most likely meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace samegrad {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (no part edited twice:
/// "optimal string alignment"). Local.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The first of the `known` names that are nearest to `given`, or none when even it differs in more than a third of the
/// characters (always at least one edit is allowed). Local.
std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string> known);

/// ", did you mean 'NAME'?" or nothing. Local.
std::string suggestion(std::string_view given, std::span<const std::string> known);

}  // namespace samegrad
