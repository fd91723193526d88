#include "samegrad/data/lesson_data.h"

#include <array>
#include <set>

#include "samegrad/data/lesson_source.h"
#include "tests/unit/data/data_fixture.h"
#include "tests/unit/data/python_oracle.h"

namespace samegrad {
namespace {

std::string jsonl(const DataConfig& config, std::int64_t seed, LessonSplit split) {
  return lesson_jsonl(generate_lesson_split(config, seed, split), split);
}

TEST(LessonData, HasTheLessonsSizesAndHalfOfEachSplitInEachPool) {
  const DataConfig config;
  const std::array<std::int64_t, 3> sizes = {1024, 128, 256};
  for (const LessonSplit split : kLessonSplits) {
    const std::vector<Sample> samples = generate_lesson_split(config, 42, split);
    const std::int64_t size = sizes[static_cast<std::size_t>(split)];
    ASSERT_EQ(static_cast<std::int64_t>(samples.size()), size);
    std::set<std::size_t> lengths;
    for (const Sample& sample : samples) {
      const auto length = static_cast<std::int64_t>(sample.inputs.size());
      const bool in_first_half = sample.id < size / 2;
      EXPECT_GE(length, in_first_half ? 16 : 65);
      EXPECT_LE(length, in_first_half ? 64 : 128);
      lengths.insert(sample.inputs.size());
    }
    if (split == LessonSplit::kTrain) {
      EXPECT_EQ(lengths.size(), 113U) << "512 draws of 49 and of 64 lengths reach every one with this seed";
    }
  }
}

TEST(LessonData, TokensAreUniformAndTheLabelNeedsTheLeftNeighbour) {
  std::array<std::int64_t, 6> tokens{};
  std::array<std::array<std::int64_t, 4>, 6> labels{};
  std::int64_t total = 0;
  for (const Sample& sample : generate_lesson_split({}, 42, LessonSplit::kTrain)) {
    for (std::size_t t = 0; t < sample.inputs.size(); ++t) {
      ++tokens.at(static_cast<std::size_t>(sample.inputs[t]));
      ++labels.at(static_cast<std::size_t>(sample.inputs[t])).at(static_cast<std::size_t>(sample.targets[t]));
      ++total;
    }
  }
  EXPECT_EQ(tokens[0], 0);
  for (std::size_t token = 1; token <= 5; ++token) {
    // About 69,000 draws: the standard deviation of a share is 0.0015.
    EXPECT_NEAR(static_cast<double>(tokens[token]) / static_cast<double>(total), 0.2, 0.008);
    // P(left neighbour >= 4) = 2/5: the token alone predicts its label in 3 of 5 cases only.
    const auto most = static_cast<double>(*std::max_element(labels[token].begin(), labels[token].end()));
    EXPECT_NEAR(most / static_cast<double>(tokens[token]), 0.6, 0.03);
  }
}

TEST(LessonData, DependsOnSeedSplitAndIdButNotOnTheNumberOfSequences) {
  DataConfig more;
  more.train_sequences = 1024;
  const std::vector<Sample> base = generate_lesson_split(more, 42, LessonSplit::kTrain);
  more.train_sequences = 1500;
  const std::vector<Sample> longer = generate_lesson_split(more, 42, LessonSplit::kTrain);
  for (std::size_t id = 0; id < 512; ++id) {
    EXPECT_EQ(base[id].inputs, longer[id].inputs);
  }
  EXPECT_NE(base[0].inputs, base[1].inputs);
  EXPECT_NE(jsonl({}, 42, LessonSplit::kTrain), jsonl({}, 43, LessonSplit::kTrain));
  EXPECT_NE(base[0].inputs, generate_lesson_split({}, 42, LessonSplit::kTest)[0].inputs);
}

class LessonOracle : public DataFixture {
 protected:
  void write_lesson(std::int64_t seed, const DataConfig& config) const {
    for (const LessonSplit split : kLessonSplits) {
      write(std::string(lesson_split_name(split)) + ".jsonl", jsonl(config, seed, split));
    }
  }
  bool accepts(std::int64_t seed) const {
    return oracle_accepts("check_lesson.py", {folder_.string(), std::to_string(seed), "3", "20", "29"});
  }

  const DataConfig config_ = [] {
    DataConfig config;
    config.train_sequences = 101;
    config.validation_sequences = 9;
    config.test_sequences = 10;
    config.shortest = 3;
    config.split = 20;
    config.longest = 29;
    return config;
  }();
};

TEST_F(LessonOracle, PythonRecomputesEveryTokenAndLabelFromTheSeed) {
  for (const std::int64_t seed : {std::int64_t{42}, std::int64_t{-1}, std::int64_t{0x123456789ABCDEF}}) {
    write_lesson(seed, config_);
    EXPECT_TRUE(accepts(seed)) << seed;
  }
}

TEST_F(LessonOracle, ControlOneOtherLabelIsRejected) {
  write_lesson(42, config_);
  std::string text = read(folder_ / "test.jsonl");
  const std::size_t place = text.rfind(']') - 1;
  text[place] = text[place] == '0' ? '1' : '0';
  write("test.jsonl", text);
  EXPECT_FALSE(accepts(42));
}

}  // namespace
}  // namespace samegrad
