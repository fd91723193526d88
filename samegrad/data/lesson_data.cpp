#include "samegrad/data/lesson_data.h"

#include "samegrad/base/check.h"
#include "samegrad/base/philox.h"

namespace samegrad {
namespace {

constexpr std::uint32_t kTokenKinds = 5;
constexpr std::int32_t kClasses = 4;

/// Uniform in 0..count-1. Lemire's multiply-shift ("Fast random integer generation in an interval", 2019): products
/// whose low half falls below 2^32 mod count are drawn again, which removes the bias.
std::uint32_t draw_below(std::uint32_t count, PhiloxKey key, std::uint32_t split, std::uint32_t id,
                         std::uint32_t position) {
  const std::uint32_t rejected_below = (0U - count) % count;
  for (std::uint32_t block = 0;; ++block) {
    for (const std::uint32_t bits : philox4x32({position, id, split, block}, key)) {
      const std::uint64_t product = std::uint64_t{bits} * count;
      if (static_cast<std::uint32_t>(product) >= rejected_below) {
        return static_cast<std::uint32_t>(product >> 32);
      }
    }
  }
}

void append_array(std::string& out, std::span<const std::int32_t> values) {
  const char* separator = "[";
  for (const std::int32_t value : values) {
    out += separator;
    out += std::to_string(value);
    separator = ",";
  }
  out += "]";
}

}  // namespace

std::string_view lesson_split_name(LessonSplit split) {
  switch (split) {
    case LessonSplit::kTrain:
      return "train";
    case LessonSplit::kValidation:
      return "validation";
    case LessonSplit::kTest:
      break;
  }
  return "test";
}

std::vector<Sample> generate_lesson_split(const DataConfig& config, std::int64_t seed, LessonSplit split) {
  SAMEGRAD_CHECK_OP(config.shortest, >=, 1);
  SAMEGRAD_CHECK_OP(config.split, >=, config.shortest);
  SAMEGRAD_CHECK_OP(config.longest, >, config.split);
  const std::int64_t count = split == LessonSplit::kTrain        ? config.train_sequences
                             : split == LessonSplit::kValidation ? config.validation_sequences
                                                                 : config.test_sequences;
  const PhiloxKey key = philox_key(static_cast<std::uint64_t>(seed), PhiloxStream::kLessonData);
  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (std::int64_t id = 0; id < count; ++id) {
    // Position 0 draws the length, position t + 1 the token t.
    const auto draw = [&](std::int64_t choices, std::int64_t position) {
      return draw_below(static_cast<std::uint32_t>(choices), key, static_cast<std::uint32_t>(split),
                        static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(position));
    };
    const bool in_short_pool = id < count / 2;
    const std::int64_t least = in_short_pool ? config.shortest : config.split + 1;
    const std::int64_t most = in_short_pool ? config.split : config.longest;
    const std::int64_t length = least + draw(most - least + 1, 0);

    Sample sample;
    sample.id = id;
    std::int32_t previous = 0;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto token = static_cast<std::int32_t>(1 + draw(kTokenKinds, t + 1));
      sample.inputs.push_back(token);
      sample.targets.push_back((token + (previous >= 4 ? 1 : 0)) % kClasses);
      previous = token;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::string lesson_jsonl(std::span<const Sample> samples, LessonSplit split) {
  std::string out;
  for (const Sample& sample : samples) {
    out += "{\"id\":" + std::to_string(sample.id) + R"(,"split":")";
    out += lesson_split_name(split);
    out += R"(","tokens":)";
    append_array(out, sample.inputs);
    out += ",\"labels\":";
    append_array(out, sample.targets);
    out += "}\n";
  }
  return out;
}

}  // namespace samegrad
