// Aligned text tables for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace samegrad {

enum class Align { kLeft, kRight };  // kRight for numbers

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// Cells are UTF-8. Two blanks stand between columns; a rule stands under the titles.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// Requires as many cells as columns.
  void add_row(std::vector<std::string> cells);

  /// The lines, each ended by a newline, none wider than `most_cells`: left-aligned columns are narrowed where
  /// that costs the fewest lines, and their cells wrapped (wrap.h). Right-aligned columns
  /// are never narrowed, so a table of wide numbers alone may stay wider. No trailing blanks. Local.
  std::string render(std::int64_t most_cells = 100) const;

 private:
  std::size_t lines_needed(const std::vector<std::int64_t>& widths) const;
  std::vector<std::int64_t> column_widths(std::int64_t most_cells) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace samegrad
