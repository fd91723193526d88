#include "samegrad/data/line_reader.h"

namespace samegrad {

bool LineReader::next(Line& line) {
  joined_.clear();
  bool in_pieces = false;
  line = {};
  line.number = number_ + 1;
  while (true) {
    if (rest_.empty()) {
      rest_ = chunks_.next();
      rest_offset_ = chunks_.offset();
      if (rest_.empty()) {
        line.text = joined_;
        number_ += in_pieces ? 1 : 0;
        return in_pieces;
      }
    }
    if (!in_pieces) {
      line.offset = rest_offset_;
    }
    const std::size_t end = rest_.find('\n');
    std::string_view piece = rest_.substr(0, end);
    const std::size_t taken = piece.size() + (end == std::string_view::npos ? 0 : 1);
    rest_.remove_prefix(taken);
    rest_offset_ += static_cast<std::int64_t>(taken);
    line.too_long = line.too_long || static_cast<std::int64_t>(joined_.size() + piece.size()) > kLongestLine;
    if (line.too_long) {
      joined_.clear();
      piece = {};
    }
    if (in_pieces || end == std::string_view::npos) {
      joined_ += piece;
      in_pieces = true;
      piece = joined_;
    }
    if (end != std::string_view::npos) {
      line.text = piece.ends_with('\r') ? piece.substr(0, piece.size() - 1) : piece;
      ++number_;
      return true;
    }
  }
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

}  // namespace samegrad
