#include "samegrad/data/sample_batch.h"

#include <algorithm>

#include "samegrad/data/bad_line.h"
#include "samegrad/data/text_sample.h"

namespace samegrad {
namespace {

/// Why a sample without supervised tokens has none.
const char* unsupervised_reason(const TokenSequence& tokens, const TextCounts& counts) {
  if (counts.tokens_before_cut < 2) return "a single token, nothing to predict";
  if (counts.supervised_before_cut > 0) return "the cut to the context leaves none";
  if (tokens.empty_completions > 0) return "the completion is empty";
  return "no label asks for one";
}

/// Adds a sample and what a person should know of it to `read`.
void count(const TokenSequence& tokens, const TextCounts& counts, const IndexRecord& record, std::int64_t context,
           ReadBatch& read) {
  IngestReport& report = read.report;
  ++report.samples;
  report.input_tokens += record.input_tokens;
  report.supervised_tokens += record.supervised_tokens;
  report.longest = std::max(report.longest, counts.tokens_before_cut);
  report.empty_completions += tokens.empty_completions;
  report.weighted_samples += tokens.weight ? 1 : 0;
  report.document_samples += record.document != 0 ? 1 : 0;
  read.any_weight = read.any_weight || (record.supervised_tokens > 0 && record.weight > 0.0);
  if (counts.tokens_before_cut > context) {
    note(report.cut_samples, report.first_cut, record.line, [&] {
      return std::to_string(record.supervised_tokens) + " of " + std::to_string(counts.supervised_before_cut) +
             " supervised tokens survive max-len " + std::to_string(context);
    });
  }
  if (record.supervised_tokens == 0) {
    note(report.unsupervised_samples, report.first_unsupervised, record.line,
         [&] { return std::string(unsupervised_reason(tokens, counts)); });
  }
}

}  // namespace

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

ReadBatch SampleBatch::read(const TextOptions& options) const {
  JsonLine parser;
  TokenSequence tokens;
  ReadBatch read;
  const auto add_bad = [&](std::int64_t line, const std::string& reason) {
    note(read.report.bad_lines, read.report.first_bad, line, [&] { return reason; });
  };
  read.records.reserve(found_.size());
  for (const Found& found : found_) {
    if (!found.bad.empty()) {
      add_bad(found.line, found.bad);
      continue;
    }
    try {
      text_tokens(parser, options, std::string_view(bytes_).substr(found.begin, found.length), found.end_token, tokens);
    } catch (const BadLine& error) {
      add_bad(found.line, error.what());
      continue;
    }
    const TextCounts counts = count_text(tokens, options.context);
    read.records.push_back({.offset = found.offset,
                            .line = found.line,
                            .length = static_cast<std::uint32_t>(found.length),
                            .input_tokens = static_cast<std::uint32_t>(counts.input_tokens),
                            .supervised_tokens = static_cast<std::uint32_t>(counts.supervised_tokens),
                            .end_token = found.end_token ? 1U : 0U,
                            .weight = tokens.weight.value_or(1.0),
                            .document = tokens.document});
    count(tokens, counts, read.records.back(), options.context, read);
  }
  return read;
}

}  // namespace samegrad
