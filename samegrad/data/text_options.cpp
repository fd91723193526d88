#include "samegrad/data/text_options.h"

#include <string>

#include "samegrad/base/error.h"
#include "samegrad/data/byte_tokens.h"

namespace samegrad {

std::string_view text_format_name(TextFormat format) {
  switch (format) {
    case TextFormat::kJsonl:
      return "jsonl";
    case TextFormat::kDocuments:
      return "documents";
    case TextFormat::kStream:
      break;
  }
  return "stream";
}

TextOptions text_options(const RunConfig& config, const std::filesystem::path& path) {
  TextOptions options{.format = TextFormat::kJsonl,
                      .context = config.model.positions,
                      .vocabulary = config.model.vocabulary,
                      .skip_bad_lines = config.data.skip_bad_lines};
  if (path.extension() == ".txt") {
    options.format = config.data.txt == "stream" ? TextFormat::kStream : TextFormat::kDocuments;
  } else if (path.extension() != ".jsonl") {
    throw InputError("data", path.string() + ": the name ends in '" + path.extension().string() +
                                 "'; allowed are .jsonl (one JSON object a line) and .txt");
  }
  if (options.format != TextFormat::kJsonl && options.vocabulary < kByteVocabulary) {
    throw InputError("data", path.string() + ": text needs a vocabulary of " + std::to_string(kByteVocabulary) +
                                 " bytes; model.vocabulary is " + std::to_string(options.vocabulary));
  }
  if (options.context < 2) {
    throw InputError("data", "model.positions: " + std::to_string(options.context) +
                                 "; text needs a context of at least 2 tokens, one to read and one to predict");
  }
  return options;
}

Json to_json(const TextOptions& options) {
  return {{"tokenizer", kByteTokenizerName},
          {"format", text_format_name(options.format)},
          {"context", options.context},
          {"vocabulary", options.vocabulary},
          {"skip_bad_lines", options.skip_bad_lines}};
}

}  // namespace samegrad
