// From the bytes of one sample of a text file to its tokens, its numbers and the sample. The indexer and the source
// both use it, so that what was counted and what is trained on cannot differ.
#pragma once

#include <cstdint>
#include <string_view>

#include "samegrad/data/byte_tokens.h"
#include "samegrad/data/json_line.h"
#include "samegrad/data/sample.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

/// What a sample counts, without the sample.
struct TextCounts {
  std::int64_t tokens_before_cut = 0;      ///< before the shift, too
  std::int64_t supervised_before_cut = 0;  ///< after the shift
  std::int64_t input_tokens = 0;           ///< after cut and shift; so is the next
  std::int64_t supervised_tokens = 0;
};

/// The tokens that stand in `bytes`: a line of .jsonl, or a document or piece of .txt with an end token after it if
/// `end_token`; in place of what `sequence` held. Throws BadLine. Local.
void text_tokens(JsonLine& parser, const TextOptions& options, std::string_view bytes, bool end_token,
                 TokenSequence& sequence);

/// Of shift_and_cut. Local.
TextCounts count_text(const TokenSequence& sequence, std::int64_t context);

/// Cuts the sequence to `context` tokens and shifts it by one: inputs are tokens 0..n-2, targets labels 1..n-1. Fewer
/// than two tokens give an empty sample. Its id is 0. Local.
Sample shift_and_cut(const TokenSequence& sequence, std::int64_t context);

}  // namespace samegrad
