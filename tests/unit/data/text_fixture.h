// A text file with its index, opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "samegrad/data/byte_tokens.h"
#include "samegrad/data/index_builder.h"
#include "samegrad/data/text_source.h"
#include "tests/unit/data/data_fixture.h"

namespace samegrad {

class TextFixture : public DataFixture {
 protected:
  /// Writes, indexes and opens a file under options_.
  std::unique_ptr<TextSource> open(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = write(name, bytes);
    build_sample_index(path, index_, options_).file->commit();
    return std::make_unique<TextSource>(path, index_, options_);
  }

  std::string refused(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = write(name, bytes);
    std::string message = refusal([&] { build_sample_index(path, index_, options_); });
    EXPECT_FALSE(std::filesystem::exists(index_));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "a refused file leaves nothing";
    return message;
  }

  static std::vector<Sample> samples_of(const SampleSource& source) {
    std::vector<Sample> samples;
    for (std::int64_t id = 0; id < source.size(); ++id) {
      samples.push_back(source.sample(id));
    }
    return samples;
  }

  /// The first sample's inputs as text, E for the end token.
  static std::string inputs_text(const Sample& sample) {
    std::string text;
    for (const std::int32_t token : sample.inputs) {
      text += token == kEndToken ? 'E' : static_cast<char>(token);
    }
    return text;
  }

  const std::filesystem::path index_ = folder_ / "index.bin";
  TextOptions options_{.format = TextFormat::kJsonl, .context = 64, .vocabulary = 256, .skip_bad_lines = false};
};

inline bool same_samples(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Sample& x, const Sample& y) {
    return x.id == y.id && x.inputs == y.inputs && x.targets == y.targets;
  });
}

inline std::string prompt_line(std::size_t prompt, std::size_t completion) {
  return R"({"prompt":")" + std::string(prompt, 'p') + R"(","completion":")" + std::string(completion, 'c') + "\"}\n";
}

}  // namespace samegrad
