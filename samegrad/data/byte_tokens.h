// The tokenizer: a token is a byte. The byte 0xFF occurs in no valid UTF-8, and bad UTF-8 is refused, so its id is free
// to be the end token. There is no start token.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "samegrad/data/sample.h"

namespace samegrad {

inline constexpr std::int64_t kByteVocabulary = 256;
inline constexpr std::int32_t kEndToken = 255;
inline constexpr std::string_view kByteTokenizerName = "bytes";

/// Tokens of one sample before the shift. labels[i] is tokens[i] where token i is supervised as a target, else
/// kIgnoreTarget ({"input_ids","labels"} may ask for another target than the token itself). Same length.
struct TokenSequence {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
  std::int64_t empty_completions = 0;  ///< completions (assistant turns) without text, which supervise nothing
  std::optional<double> weight;        ///< as given with the sample
  std::uint64_t document = 0;          ///< Sample::document

  /// As new, but for the memory that it has.
  void clear();
  /// Appends the bytes of `text`.
  void append_text(std::string_view text, bool supervised);
  /// Appends one token.
  void append(std::int32_t token, bool supervised);
  /// Appends a completion and the end token after it: both supervised, unless the completion is empty.
  void append_completion(std::string_view text);
};

/// The tokens of a .txt document or piece: its bytes with CRLF as LF, all supervised, then the end token if asked; in
/// place of what `sequence` held.
void txt_tokens(std::string_view bytes, bool end_token, TokenSequence& sequence);

}  // namespace samegrad
