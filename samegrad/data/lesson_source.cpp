#include "samegrad/data/lesson_source.h"

#include <string>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/data/bad_line.h"
#include "samegrad/data/json_line.h"
#include "samegrad/data/line_reader.h"

namespace samegrad {
namespace {

Sample read_line(JsonLine& parser, std::string_view line, std::int64_t id, LessonSplit split,
                 const ModelConfig& model) {
  const simdjson::dom::object object = parser.parse(line);
  if (const std::int64_t given = integer_value(field_of(object, "id"), "id"); given != id) {
    throw BadLine("\"id\" is " + std::to_string(given) + "; the next one is " + std::to_string(id));
  }
  if (const std::string_view given = text_value(field_of(object, "split"), "split");
      given != lesson_split_name(split)) {
    throw BadLine("\"split\" is " + quoted(given) + "; this file holds " + std::string(lesson_split_name(split)));
  }
  Sample sample;
  sample.id = id;
  append_integers(field_of(object, "tokens"), "tokens", 0, model.vocabulary - 1, 0, sample.inputs);
  append_integers(field_of(object, "labels"), "labels", 0, model.classes - 1, kIgnoreTarget, sample.targets);
  const auto tokens = static_cast<std::int64_t>(sample.inputs.size());
  if (tokens < 1 || tokens > model.positions) {
    throw BadLine("\"tokens\" has " + std::to_string(tokens) + "; allowed are 1.." + std::to_string(model.positions) +
                  " (model.positions)");
  }
  if (sample.targets.size() != sample.inputs.size()) {
    throw BadLine("\"tokens\" has " + std::to_string(tokens) + " and \"labels\" " +
                  std::to_string(sample.targets.size()) + "; every token needs one label");
  }
  return sample;
}

}  // namespace

LessonSource::LessonSource(const std::filesystem::path& path, LessonSplit split, const ModelConfig& model) {
  const DataFile file(path);
  FileChunks chunks(file);
  LineReader lines(chunks);
  JsonLine parser;
  Line line;
  while (lines.next(line)) {
    try {
      if (line.too_long) {
        throw BadLine("the line is longer than " + std::to_string(kLongestLine) + " bytes");
      }
      samples_.push_back(read_line(parser, line.text, size(), split, model));
    } catch (const BadLine& error) {
      throw InputError("data", path.string() + ":" + std::to_string(line.number) + ": " + error.what() +
                                   "; correct the line, or remove the file and run `samegrad prepare`");
    }
  }
  if (samples_.empty()) {
    throw InputError("data", path.string() + ": 0 samples; remove the file and run `samegrad prepare`");
  }
  data_file_ = {.bytes = chunks.bytes(), .sha256 = chunks.sha256()};
}

const Sample& LessonSource::at(std::int64_t id) const {
  SAMEGRAD_CHECK_OP(id, >=, 0);
  SAMEGRAD_CHECK_OP(id, <, size());
  return samples_[static_cast<std::size_t>(id)];
}

Sample LessonSource::sample(std::int64_t id) const { return at(id); }

std::int64_t LessonSource::supervised_tokens(std::int64_t id) const { return at(id).supervised_tokens(); }

std::int64_t LessonSource::input_tokens(std::int64_t id) const {
  return static_cast<std::int64_t>(at(id).inputs.size());
}

}  // namespace samegrad
