#include "samegrad/base/json.h"
#include "tests/unit/data/python_oracle.h"
#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

class TextOracle : public TextFixture {
 protected:
  std::string dumped(const SampleSource& source) const {
    std::string text;
    for (const Sample& sample : samples_of(source)) {
      text += Json({sample.inputs, sample.targets}).dump() + "\n";
    }
    return text;
  }
  bool accepts() const {
    return oracle_accepts("check_text.py", {(folder_ / "a.jsonl").string(), (folder_ / "samples").string(),
                                            std::to_string(options_.context)});
  }

  const std::string bytes_ =
      R"({"text":"gr\u00fc\u00df dich \ud83d\ude00, \"you\"\n"})"
      "\n"
      "{\"text\":\"\xE2\x82\xAC raw\", \"source\": {\"a\": [1, 2.5, null, true]}}\n"
      R"({"text":""})"
      "\n"
      R"({"prompt":"What is 2+2?","completion":" 4"})"
      "\n"
      R"({"answer":"a long answer that is longer than a short context","prompt":"Q: "})"
      "\n"
      R"({"prompt":"nothing","answer":""})"
      "\n"
      R"({"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi\tthere"},{"role":"assistant","content":"hello"},{"content":"\u00e9","role":"user"},{"role":"assistant","content":""},{"role":"assistant","content":"x"}]})"
      "\n"
      R"({"input_ids":[1,2,3,250,0],"labels":[-100,-100,3,7,0]})"
      "\n"
      R"({"input_ids":[9,8,7]})"
      "\n"
      R"({"input_ids":[9]})"
      "\n"
      R"({"input_ids":[]})"
      "\n";
};

TEST_F(TextOracle, PythonBuildsTheSameSamplesForEveryFormAndContext) {
  for (const std::int64_t context : {2, 3, 16, 64, 1000}) {
    options_.context = context;
    write("samples", dumped(*open("a.jsonl", bytes_)));
    EXPECT_TRUE(accepts()) << context;
  }
}

TEST_F(TextOracle, ControlOneOtherTargetIsRejected) {
  std::string samples = dumped(*open("a.jsonl", bytes_));
  const std::size_t place = samples.find("-100");
  ASSERT_NE(place, std::string::npos);
  write("samples", samples.replace(place, 4, "32"));
  EXPECT_FALSE(accepts());
}

}  // namespace
}  // namespace samegrad
