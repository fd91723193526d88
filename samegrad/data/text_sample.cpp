#include "samegrad/data/text_sample.h"

#include <algorithm>

#include "samegrad/data/json_sample.h"

namespace samegrad {

TextSample shift_and_cut(const TokenSequence& sequence, std::int64_t context) {
  TextSample out;
  out.tokens_before_cut = static_cast<std::int64_t>(sequence.tokens.size());
  out.empty_completions = sequence.empty_completions;
  out.has_weight = sequence.weight.has_value();
  out.sample.weight = sequence.weight.value_or(1.0);
  out.sample.document = sequence.document;
  if (out.tokens_before_cut < 2) {
    return out;
  }
  out.supervised_before_cut = std::count_if(sequence.labels.begin() + 1, sequence.labels.end(),
                                            [](std::int32_t label) { return label != kIgnoreTarget; });
  const std::int64_t kept = std::min(out.tokens_before_cut, context);
  out.sample.inputs.assign(sequence.tokens.begin(), sequence.tokens.begin() + kept - 1);
  out.sample.targets.assign(sequence.labels.begin() + 1, sequence.labels.begin() + kept);
  return out;
}

TextSample build_text_sample(JsonLine& parser, const TextOptions& options, std::string_view bytes, bool end_token) {
  if (options.format == TextFormat::kJsonl) {
    return shift_and_cut(json_tokens(parser, bytes, options.vocabulary), options.context);
  }
  return shift_and_cut(txt_tokens(bytes, end_token), options.context);
}

}  // namespace samegrad
