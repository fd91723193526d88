#include "samegrad/data/sample_batch.h"

#include "samegrad/data/bad_line.h"

namespace samegrad {

void SampleBatch::add_sample(const FoundSample& sample) {
  found_.push_back({.offset = sample.offset,
                    .line = sample.line,
                    .begin = bytes_.size(),
                    .length = sample.bytes.size(),
                    .end_token = sample.end_token});
  bytes_ += sample.bytes;
}

void SampleBatch::add_bad_line(std::int64_t line, std::string_view reason) {
  found_.push_back({.line = line, .bad = std::string(reason)});
}

void SampleBatch::read(const TextOptions& options) {
  JsonLine parser;
  TokenSequence tokens;
  samples_.reserve(found_.size());
  for (const Found& found : found_) {
    ReadSample& one = samples_.emplace_back();
    one.record.line = found.line;
    one.bad = found.bad;
    if (!one.bad.empty()) continue;
    try {
      text_tokens(parser, options, std::string_view(bytes_).substr(found.begin, found.length), found.end_token, tokens);
    } catch (const BadLine& error) {
      one.bad = error.what();
      continue;
    }
    one.counts = count_text(tokens, options.context);
    one.empty_completions = tokens.empty_completions;
    one.has_weight = tokens.weight.has_value();
    one.record.offset = found.offset;
    one.record.length = static_cast<std::uint32_t>(found.length);
    one.record.input_tokens = static_cast<std::uint32_t>(one.counts.input_tokens);
    one.record.supervised_tokens = static_cast<std::uint32_t>(one.counts.supervised_tokens);
    one.record.end_token = found.end_token ? 1U : 0U;
    one.record.weight = tokens.weight.value_or(1.0);
    one.record.document = tokens.document;
  }
}

void SampleBatch::clear() {
  bytes_.clear();
  found_.clear();
  samples_.clear();
}

}  // namespace samegrad
