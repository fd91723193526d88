#include "samegrad/data/byte_tokens.h"

namespace samegrad {

void TokenSequence::clear() {
  tokens.clear();
  labels.clear();
  empty_completions = 0;
  weight.reset();
  document = 0;
}

void TokenSequence::append_text(std::string_view text, bool supervised) {
  if (tokens.empty()) {
    tokens.reserve(text.size() + 1);  // an end token often follows
    labels.reserve(text.size() + 1);
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  tokens.insert(tokens.end(), bytes, bytes + text.size());
  if (supervised) {
    labels.insert(labels.end(), bytes, bytes + text.size());
  } else {
    labels.insert(labels.end(), text.size(), kIgnoreTarget);
  }
}

void TokenSequence::append(std::int32_t token, bool supervised) {
  tokens.push_back(token);
  labels.push_back(supervised ? token : kIgnoreTarget);
}

void TokenSequence::append_completion(std::string_view text) {
  const bool supervised = !text.empty();
  append_text(text, supervised);
  append(kEndToken, supervised);
  empty_completions += supervised ? 0 : 1;
}

void txt_tokens(std::string_view bytes, bool end_token, TokenSequence& sequence) {
  sequence.clear();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, bytes.find("\r\n"));
    sequence.append_text(piece, /*supervised=*/true);
    bytes.remove_prefix(piece.size() + (piece.size() < bytes.size() ? 1 : 0));  // the LF begins the next piece
  }
  if (end_token) {
    sequence.append(kEndToken, /*supervised=*/true);
  }
}

}  // namespace samegrad
