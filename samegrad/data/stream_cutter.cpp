#include "samegrad/data/stream_cutter.h"

#include "samegrad/data/utf8.h"

namespace samegrad {

void StreamCutter::add(std::string_view chunk, std::int64_t offset) {
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const std::int64_t place = offset + static_cast<std::int64_t>(i);
    const char byte = chunk[i];
    if (byte == '\n') {
      push_held_line_end();
      held_line_end_ = held_carriage_ ? "\r\n" : "\n";
      held_offset_ = held_carriage_ ? carriage_offset_ : place;
      held_carriage_ = false;
      continue;
    }
    push_held_carriage();
    if (byte == '\r') {
      held_carriage_ = true;
      carriage_offset_ = place;
    } else {
      push_held_line_end();
      push(chunk.substr(i, 1), place);
    }
  }
}

void StreamCutter::end() {
  push_held_carriage();
  if (!any_token_) {
    return;
  }
  if (piece_tokens_ == context_) {
    finish_piece(/*end_token=*/false);
    piece_line_ = line_;
  }
  finish_piece(/*end_token=*/true);
}

void StreamCutter::push_held_line_end() {
  if (!held_line_end_.empty()) {
    push(held_line_end_, held_offset_);
    held_line_end_.clear();
  }
}

void StreamCutter::push_held_carriage() {
  if (held_carriage_) {
    push_held_line_end();
    push("\r", carriage_offset_);
    held_carriage_ = false;
  }
}

void StreamCutter::push(std::string_view bytes, std::int64_t offset) {
  if (piece_tokens_ == context_) {
    finish_piece(/*end_token=*/false);
  }
  if (piece_tokens_ == 0) {
    piece_offset_ = offset;
    piece_line_ = line_;
  }
  piece_ += bytes;
  ++piece_tokens_;
  any_token_ = true;
  line_ += bytes.back() == '\n' ? 1 : 0;
}

void StreamCutter::finish_piece(bool end_token) {
  const std::string text = unfinished_ + piece_;
  const std::size_t tail = end_token ? 0 : unfinished_utf8_tail(text);
  const std::string_view complete = std::string_view(text).substr(0, text.size() - tail);
  if (is_valid_utf8(complete)) {
    unfinished_ = text.substr(complete.size());
    visitor_.on_sample({.bytes = piece_, .offset = piece_offset_, .line = piece_line_, .end_token = end_token});
  } else {
    unfinished_.clear();
    report_bad_piece(complete);
  }
  piece_offset_ += static_cast<std::int64_t>(piece_.size());
  piece_.clear();
  piece_tokens_ = 0;
}

void StreamCutter::report_bad_piece(std::string_view text) {
  // No character spans a line end, so the first line that is not valid by itself holds the mistake.
  std::int64_t line = piece_line_;
  std::size_t end = text.find('\n');
  while (end != std::string_view::npos && is_valid_utf8(text.substr(0, end))) {
    text.remove_prefix(end + 1);
    end = text.find('\n');
    ++line;
  }
  visitor_.on_bad_line(line, "not valid UTF-8");
}

}  // namespace samegrad
