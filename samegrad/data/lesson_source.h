// The lesson's samples from a prepared .jsonl file.
#pragma once

#include <filesystem>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/data/lesson_data.h"
#include "samegrad/data/sample_scan.h"
#include "samegrad/data/sample_source.h"

namespace samegrad {

class LessonSource : public SampleSource {
 public:
  /// Reads and checks every line: {"id","split","tokens","labels"}, ids 0.. in order, the split's name, tokens in
  /// 0..vocabulary-1 and at most model.positions of them, as many labels in 0..classes-1 (or -100: not supervised).
  /// Throws InputError "FILE:LINE: reason", or naming the file when it is missing or empty. Local.
  LessonSource(const std::filesystem::path& path, LessonSplit split, const ModelConfig& model);

  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  Sample sample(std::int64_t id) const override;
  std::int64_t supervised_tokens(std::int64_t id) const override;
  std::int64_t input_tokens(std::int64_t id) const override;
  bool is_in_memory() const override { return true; }

  const FileFingerprint& data_file() const { return data_file_; }

 private:
  const Sample& at(std::int64_t id) const;

  std::vector<Sample> samples_;
  FileFingerprint data_file_;
};

}  // namespace samegrad
