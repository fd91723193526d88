// From the bytes of one sample of a text file to the sample. The indexer and the source both use it, so that what was
// counted and what is trained on cannot differ.
#pragma once

#include <cstdint>
#include <string_view>

#include "samegrad/data/byte_tokens.h"
#include "samegrad/data/json_line.h"
#include "samegrad/data/sample.h"
#include "samegrad/data/text_options.h"

namespace samegrad {

struct TextSample {
  Sample sample;                           ///< shifted by one and cut to the context; id 0
  std::int64_t tokens_before_cut = 0;      ///< before the shift, too
  std::int64_t supervised_before_cut = 0;  ///< after the shift
  std::int64_t empty_completions = 0;
  bool has_weight = false;  ///< was given one
};

/// Cuts the sequence to `context` tokens and shifts it by one: inputs are tokens 0..n-2, targets labels 1..n-1. Fewer
/// than two tokens give an empty sample. Local.
TextSample shift_and_cut(const TokenSequence& sequence, std::int64_t context);

/// The sample that stands in `bytes`: a line of .jsonl, or a document or piece of .txt with an end token after it if
/// `end_token`. Throws BadLine. Local.
TextSample build_text_sample(JsonLine& parser, const TextOptions& options, std::string_view bytes, bool end_token);

}  // namespace samegrad
