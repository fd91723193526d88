// What decides, beside the file itself, which samples a text file holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"

namespace samegrad {

enum class TextFormat {
  kJsonl,      ///< one JSON object a line
  kDocuments,  ///< .txt: documents separated by blank lines
  kStream,     ///< .txt: one stream, cut into pieces of the context
};

struct TextOptions {
  TextFormat format = TextFormat::kJsonl;
  std::int64_t context = 128;     ///< most tokens of a sample, counted before the shift
  std::int64_t vocabulary = 256;  ///< of the model: allowed ids are 0..vocabulary-1
  bool skip_bad_lines = false;

  bool operator==(const TextOptions&) const = default;
};

/// jsonl | documents | stream.
std::string_view text_format_name(TextFormat format);

/// The options under which `path` is read by a run. Throws InputError when its name ends in neither .jsonl nor .txt,
/// when the context is shorter than 2 tokens, or when the vocabulary of a .txt is smaller than the bytes'. Local.
TextOptions text_options(const RunConfig& config, const std::filesystem::path& path);

/// Every option and the tokenizer's name: two equal objects read a file into equal samples. Local.
Json to_json(const TextOptions& options);

}  // namespace samegrad
