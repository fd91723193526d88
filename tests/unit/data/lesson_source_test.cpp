#include "samegrad/data/lesson_source.h"

#include "samegrad/base/digest.h"
#include "tests/unit/data/data_fixture.h"

namespace samegrad {
namespace {

class LessonFile : public DataFixture {
 protected:
  std::string refused(const std::string& bytes) const {
    const std::filesystem::path path = write("test.jsonl", bytes);
    return refusal([&] { LessonSource(path, LessonSplit::kTest, {}); });
  }
};

const std::string kFirst = R"({"id":0,"split":"test","tokens":[1,5],"labels":[1,-100]})";

TEST_F(LessonFile, GivesBackWhatWasGenerated) {
  const std::vector<Sample> samples = generate_lesson_split({}, 7, LessonSplit::kTest);
  const std::string text = lesson_jsonl(samples, LessonSplit::kTest);
  const LessonSource source(write("test.jsonl", text), LessonSplit::kTest, {});
  ASSERT_EQ(source.size(), 256);
  for (std::int64_t id = 0; id < source.size(); ++id) {
    const Sample& generated = samples[static_cast<std::size_t>(id)];
    EXPECT_EQ(source.sample(id).id, id);
    EXPECT_EQ(source.sample(id).inputs, generated.inputs);
    EXPECT_EQ(source.sample(id).targets, generated.targets);
    EXPECT_EQ(source.input_tokens(id), static_cast<std::int64_t>(generated.inputs.size()));
    EXPECT_EQ(source.supervised_tokens(id), source.input_tokens(id));
  }
  EXPECT_EQ(source.data_file().sha256, sha256_hex(text));
}

TEST_F(LessonFile, CountsALabelOfMinus100AsNotSupervised) {
  const LessonSource source(write("test.jsonl", kFirst), LessonSplit::kTest, {});
  EXPECT_EQ(source.input_tokens(0), 2);
  EXPECT_EQ(source.supervised_tokens(0), 1);
}

TEST_F(LessonFile, IsRefusedByFileAndLineForEveryKindOfMistake) {
  const auto second = [&](const std::string& line) { return refused(kFirst + "\n" + line + "\n"); };
  const std::string at = (folder_ / "test.jsonl:2: ").string();
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[6],"labels":[0]})"),
                       at + "\"tokens[0]\" is 6; allowed is 0..5"));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[5],"labels":[4]})"),
                       at + "\"labels[0]\" is 4; allowed is 0..3 or -100"));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[5],"labels":[0,1]})"),
                       at + "\"tokens\" has 1 and \"labels\" 2"));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[],"labels":[]})"), at + "\"tokens\" has 0"));
  EXPECT_TRUE(
      contains(second(R"({"id":2,"split":"test","tokens":[5],"labels":[0]})"), at + "\"id\" is 2; the next one is 1"));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"train","tokens":[5],"labels":[0]})"), at + "\"split\" is \"train\""));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[5]})"), at + "no field \"labels\""));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":"5","labels":[0]})"), at + "\"tokens\" is a string"));
  EXPECT_TRUE(contains(second(R"({"id":1,"split":"test","tokens":[5)"), at + "not valid JSON"));
  EXPECT_TRUE(contains(second(""), at + "not valid JSON"));
  EXPECT_TRUE(contains(refused(""), "test.jsonl: 0 samples"));
}

TEST_F(LessonFile, RefusesASequenceLongerThanTheModelsPositions) {
  ModelConfig model;
  model.positions = 1;
  const std::filesystem::path path = write("test.jsonl", kFirst);
  EXPECT_TRUE(contains(refusal([&] { LessonSource(path, LessonSplit::kTest, model); }), "allowed are 1..1"));
}

}  // namespace
}  // namespace samegrad
