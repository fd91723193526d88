// The lines of a text file, in bounded memory. A line ends with LF, CRLF or the end of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "samegrad/data/file_chunks.h"

namespace samegrad {

/// Most bytes of one line: what a person writes is far below, and a line that is read takes some fifteen times as much
/// memory.
inline constexpr std::int64_t kLongestLine = std::int64_t{8} << 20;

struct Line {
  std::string_view text;    ///< without its end; lives until the next call
  std::int64_t offset = 0;  ///< of text in the file
  std::int64_t number = 0;  ///< 1-based
  bool too_long = false;    ///< longer than kLongestLine: text is empty
};

class LineReader {
 public:
  explicit LineReader(FileChunks& chunks) : chunks_(chunks) {}

  /// False at the end of the file. A final line end begins no further line.
  bool next(Line& line);

 private:
  FileChunks& chunks_;
  std::string_view rest_;         ///< of the current chunk
  std::int64_t rest_offset_ = 0;  ///< of rest_ in the file
  std::string joined_;            ///< a line that several chunks hold
  std::int64_t number_ = 0;
};

/// Whether the line holds nothing but white space.
bool is_blank(std::string_view line);

}  // namespace samegrad
