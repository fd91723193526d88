#include "samegrad/data/byte_tokens.h"

namespace samegrad {

void TokenSequence::append_text(std::string_view text, bool supervised) {
  for (const char byte : text) {
    append(static_cast<unsigned char>(byte), supervised);
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

TokenSequence txt_tokens(std::string_view bytes, bool end_token) {
  TokenSequence sequence;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool carriage_of_crlf = bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n';
    if (!carriage_of_crlf) {
      sequence.append(static_cast<unsigned char>(bytes[i]), /*supervised=*/true);
    }
  }
  if (end_token) {
    sequence.append(kEndToken, /*supervised=*/true);
  }
  return sequence;
}

}  // namespace samegrad
