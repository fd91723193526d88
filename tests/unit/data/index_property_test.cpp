#include <rapidcheck.h>

#include <numeric>

#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

class IndexProperty : public TextFixture {
 protected:
  /// Every count of the index and of the report is that of the samples which the source builds.
  void check_counts(const TextSource& source) const {
    std::int64_t inputs = 0;
    std::int64_t supervised = 0;
    std::int64_t without = 0;
    for (std::int64_t id = 0; id < source.size(); ++id) {
      const Sample sample = source.sample(id);
      const auto length = static_cast<std::int64_t>(sample.inputs.size());
      RC_ASSERT(sample.id == id);
      RC_ASSERT(sample.targets.size() == sample.inputs.size());
      RC_ASSERT(length < options_.context);
      RC_ASSERT(source.input_tokens(id) == length);
      RC_ASSERT(source.supervised_tokens(id) == sample.supervised_tokens());
      inputs += length;
      supervised += sample.supervised_tokens();
      without += sample.supervised_tokens() == 0 ? 1 : 0;
    }
    RC_ASSERT(source.report().samples == source.size());
    RC_ASSERT(source.report().input_tokens == inputs);
    RC_ASSERT(source.report().supervised_tokens == supervised);
    RC_ASSERT(source.report().unsupervised_samples == without);
  }
};

std::string text(std::size_t length) { return std::string(length, 'x'); }

std::string line_of(int form, std::size_t first, std::size_t second) {
  switch (form) {
    case 0:
      return R"({"text":")" + text(first) + "\"}";
    case 1:
      return R"({"prompt":")" + text(first) + R"(","completion":")" + text(second) + "\"}";
    case 2:
      return R"({"prompt":")" + text(first) + R"(","answer":")" + text(second) + "\"}";
    case 3:
      return R"({"messages":[{"role":"user","content":")" + text(first) + R"("},{"role":"assistant","content":")" +
             text(second) + "\"}]}";
    case 4: {
      std::string ids = "0";
      std::string labels = "-100";
      for (std::size_t i = 0; i < first; ++i) {
        ids += ",7";
        labels += i % 3 == second % 3 ? ",-100" : ",7";
      }
      return R"({"input_ids":[)" + ids + R"(],"labels":[)" + labels + "]}";
    }
    case 5:
      return " ";
    default:
      return "{\"text\":";
  }
}

TEST_F(IndexProperty, CountsAreThoseOfTheBuiltSamplesInJsonl) {
  options_.skip_bad_lines = true;
  EXPECT_TRUE(rc::check([&] {
    options_.context = *rc::gen::inRange<std::int64_t>(2, 20);
    const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::apply(
        line_of, rc::gen::inRange(0, 7), rc::gen::inRange<std::size_t>(0, 24), rc::gen::inRange<std::size_t>(0, 24)));
    const std::string end = *rc::gen::element<std::string>("\n", "\r\n");
    const std::string bytes =
        std::accumulate(lines.begin(), lines.end(), "{\"text\":\"begin\"}" + end,
                        [&](const std::string& before, const std::string& line) { return before + line + end; });
    const auto source = open("a.jsonl", bytes);
    check_counts(*source);
    const IngestReport& report = source->report();
    RC_ASSERT(report.samples + report.blank_lines + report.bad_lines == static_cast<std::int64_t>(lines.size()) + 1);
  }));
}

TEST_F(IndexProperty, CountsAreThoseOfTheBuiltSamplesInTxt) {
  options_.skip_bad_lines = true;
  EXPECT_TRUE(rc::check([&] {
    options_.format = *rc::gen::element(TextFormat::kDocuments, TextFormat::kStream);
    options_.context = *rc::gen::inRange<std::int64_t>(2, 20);
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "word", "\n", "\r\n", "\r", " ", "\n\n", "\xC3\xA4", "\xE2\x82\xAC", "\xFF", "\xC3"));
    const std::string bytes =
        std::accumulate(pieces.begin(), pieces.end(), std::string("begin and some more words\n\n"));
    check_counts(*open("a.txt", bytes));
  }));
}

}  // namespace
}  // namespace samegrad
