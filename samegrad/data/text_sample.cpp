#include "samegrad/data/text_sample.h"

#include <algorithm>

#include "samegrad/data/json_sample.h"

namespace samegrad {
namespace {

/// Tokens that are kept of a sequence: none where there is nothing to predict.
std::int64_t kept_tokens(const TokenSequence& sequence, std::int64_t context) {
  const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
  return tokens < 2 ? 0 : std::min(tokens, context);
}

}  // namespace

void text_tokens(JsonLine& parser, const TextOptions& options, std::string_view bytes, bool end_token,
                 TokenSequence& sequence) {
  if (options.format == TextFormat::kJsonl) {
    json_tokens(parser, bytes, options.vocabulary, sequence);
  } else {
    txt_tokens(bytes, end_token, sequence);
  }
}

TextCounts count_text(const TokenSequence& sequence, std::int64_t context) {
  TextCounts counts{.tokens_before_cut = static_cast<std::int64_t>(sequence.tokens.size())};
  const std::int64_t kept = kept_tokens(sequence, context);
  if (kept == 0) {
    return counts;
  }
  const auto first = sequence.labels.begin() + 1;
  const auto cut = sequence.labels.begin() + kept;
  const auto supervised = [](auto begin, auto end) {
    return std::count_if(begin, end, [](std::int32_t label) { return label != kIgnoreTarget; });
  };
  counts.input_tokens = kept - 1;
  counts.supervised_tokens = supervised(first, cut);
  counts.supervised_before_cut = counts.supervised_tokens + supervised(cut, sequence.labels.end());
  return counts;
}

Sample shift_and_cut(const TokenSequence& sequence, std::int64_t context) {
  Sample sample;
  sample.weight = sequence.weight.value_or(1.0);
  sample.document = sequence.document;
  if (const std::int64_t kept = kept_tokens(sequence, context); kept > 0) {
    sample.inputs.assign(sequence.tokens.begin(), sequence.tokens.begin() + kept - 1);
    sample.targets.assign(sequence.labels.begin() + 1, sequence.labels.begin() + kept);
  }
  return sample;
}

}  // namespace samegrad
