#include "samegrad/data/text_source.h"

#include <string>

#include "samegrad/base/error.h"
#include "samegrad/data/bad_line.h"
#include "samegrad/data/line_reader.h"
#include "samegrad/data/text_sample.h"

namespace samegrad {

TextSource::TextSource(const std::filesystem::path& data, const std::filesystem::path& index,
                       const TextOptions& options)
    : file_(data), opened_(file_.facts()), index_(index), options_(options), report_(index_.report()) {
  report_.file = data.string();
  if (index_.options() != to_json(options)) {
    throw InputError("data", index.string() + ": built with " + index_.options().dump() + ", the run has " +
                                 to_json(options).dump() + "; run `samegrad prepare`");
  }
  if (index_.data_file().bytes != file_.size()) {
    throw InputError("data", data.string() + ": " + std::to_string(file_.size()) + " bytes, " +
                                 std::to_string(index_.data_file().bytes) +
                                 " when it was indexed; run `samegrad prepare`");
  }
}

Sample TextSource::sample(std::int64_t id) const {
  const IndexRecord record = index_.record(id);
  const auto refuse = [&](const std::string& reason) {
    throw InputError("data", report_.file + ":" + std::to_string(record.line) + ": " + reason +
                                 "; the file has changed since it was indexed; run `samegrad prepare`");
  };
  // Before the memory is taken: a record may say anything.
  if (record.length > kLongestLine || record.offset < 0 || record.offset > file_.size() - std::int64_t{record.length}) {
    refuse("its index places the sample outside the file");
  }
  std::string bytes(record.length, '\0');
  if (file_.read_at(record.offset, bytes) != bytes.size()) {
    refuse("the file ends before the sample does");
  }
  // After the read: what is written from here on is not in these bytes.
  if (const FileFacts now = file_.facts(); now.written_ns != opened_.written_ns || now.bytes != opened_.bytes) {
    refuse("the file was written to while it was in use");
  }
  Sample built;
  try {
    JsonLine parser;
    TokenSequence tokens;
    text_tokens(parser, options_, bytes, record.end_token != 0, tokens);
    built = shift_and_cut(tokens, options_.context);
  } catch (const BadLine& error) {
    refuse(error.what());
  }
  if (static_cast<std::int64_t>(built.inputs.size()) != record.input_tokens ||
      built.supervised_tokens() != record.supervised_tokens) {
    refuse(std::to_string(built.inputs.size()) + " tokens, " + std::to_string(built.supervised_tokens()) +
           " of them supervised; counted were " + std::to_string(record.input_tokens) + " and " +
           std::to_string(record.supervised_tokens));
  }
  if (built.weight != record.weight || built.document != record.document) {
    refuse("its weight or its document is not the one that was counted");
  }
  built.id = id;
  return built;
}

}  // namespace samegrad
