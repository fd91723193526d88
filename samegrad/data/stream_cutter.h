// Cuts one stream of text into pieces of the context length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "samegrad/data/sample_scan.h"

namespace samegrad {

/// Fed with the file's chunks in order. A token is a byte, CRLF counting as the one byte LF, which is never cut in two.
/// The file's final line end is not part of the stream.
class StreamCutter {
 public:
  StreamCutter(std::int64_t context, ScanVisitor& visitor) : context_(context), visitor_(visitor) {}

  void add(std::string_view chunk, std::int64_t offset);
  void end();

 private:
  /// Appends one token that stands in the file as `bytes`.
  void push(std::string_view bytes, std::int64_t offset);
  void push_held_line_end();
  void push_held_carriage();
  void finish_piece(bool end_token);
  /// Reports the line in which the bad UTF-8 of the current piece stands.
  void report_bad_piece(std::string_view text);

  std::int64_t context_;
  ScanVisitor& visitor_;

  bool held_carriage_ = false;  ///< a CR whose next byte is not known yet
  std::int64_t carriage_offset_ = 0;
  std::string held_line_end_;     ///< a line end that is the file's last one if nothing follows
  std::int64_t held_offset_ = 0;  ///< of held_line_end_

  std::string piece_;
  std::int64_t piece_tokens_ = 0;
  std::int64_t piece_offset_ = 0;
  std::int64_t piece_line_ = 1;
  std::int64_t line_ = 1;   ///< of the next token
  std::string unfinished_;  ///< bytes of a character that the piece before began
  bool any_token_ = false;
};

}  // namespace samegrad
