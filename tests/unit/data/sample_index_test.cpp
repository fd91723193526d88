#include "samegrad/data/sample_index.h"

#include <chrono>
#include <filesystem>

#include "samegrad/base/digest.h"
#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

class Index : public TextFixture {
 protected:
  const std::string lines_ = "{\"text\":\"one\"}\r\n\n" + prompt_line(70, 3) + "{\"text\":\"two\"}";
};

TEST_F(Index, SaysWhereEachSampleStandsAndWhatItCounts) {
  open("a.jsonl", lines_);
  const SampleIndex index(index_);
  ASSERT_EQ(index.size(), 3);
  const auto length = static_cast<std::uint32_t>(prompt_line(70, 3).size() - 1);
  EXPECT_EQ(index.record(0),
            (IndexRecord{.offset = 0, .line = 1, .length = 14, .input_tokens = 3, .supervised_tokens = 3}));
  EXPECT_EQ(index.record(1), (IndexRecord{.offset = 17, .line = 3, .length = length, .input_tokens = 63}));
  EXPECT_EQ(index.record(2),
            (IndexRecord{.offset = 18 + length, .line = 4, .length = 14, .input_tokens = 3, .supervised_tokens = 3}));
  EXPECT_EQ(index.options(), to_json(options_));
  EXPECT_EQ(index.data_file(), (FileFingerprint{static_cast<std::int64_t>(lines_.size()), sha256_hex(lines_)}));
}

TEST_F(Index, KeepsTheReport) {
  const auto source = open("a.jsonl", lines_);
  EXPECT_EQ(source->report(), SampleIndex(index_).report());
  EXPECT_EQ(source->report().file, (folder_ / "a.jsonl").string());
  EXPECT_EQ(source->report().samples, 3);
  EXPECT_EQ(source->report().input_tokens, 69);
  EXPECT_EQ(source->report().supervised_tokens, 6);
  EXPECT_EQ(source->report().longest, 74);
  EXPECT_EQ(source->report().blank_lines, 1);
  EXPECT_EQ(ingest_report_from_json(to_json(source->report())), source->report());
}

TEST_F(Index, KeepsWeightsAndDocuments) {
  const auto source = open("a.jsonl", R"({"text":"one","weight":0.25,"document":"d"})"
                                      "\n"
                                      R"({"text":"two"})"
                                      "\n"
                                      R"({"text":"six","document":"d","weight":0})");
  EXPECT_TRUE(source->weighted());
  for (std::int64_t id = 0; id < source->size(); ++id) {
    EXPECT_EQ(source->weight(id), (std::vector<double>{0.25, 1, 0})[static_cast<std::size_t>(id)]);
    EXPECT_EQ(source->sample(id).weight, source->weight(id));
    EXPECT_EQ(source->sample(id).document, source->document(id));
  }
  EXPECT_NE(source->document(0), 0U);
  EXPECT_EQ(source->document(0), source->document(2));
  EXPECT_EQ(source->document(1), 0U);
  EXPECT_EQ(source->report().weighted_samples, 2);
  EXPECT_EQ(source->report().document_samples, 2);
  EXPECT_TRUE(contains(ingest_lines(source->report()).front(), "; 2 samples with a weight, the others weigh 1"));
  EXPECT_EQ(ingest_report_from_json(to_json(source->report())), source->report());
  EXPECT_FALSE(open("b.jsonl", R"({"text":"one"})")->weighted());
}

TEST_F(Index, ABadWeightIsABadLineAndOnlyZerosAreNothingToLearn) {
  EXPECT_TRUE(contains(refused("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",\"weight\":-1}"),
                       "a.jsonl:2: \"weight\" is -1.0; it must be a finite number of at least 0; correct the line"));
  EXPECT_TRUE(contains(refused("a.jsonl", R"({"text":"b","weight":0})"), "has weight 0"));
}

TEST_F(Index, OfWeightsThatChangedIsRefusedAtTheSample) {
  open("a.jsonl", R"({"text":"one","weight":1})");
  write("a.jsonl", R"({"text":"one","weight":2})");
  EXPECT_TRUE(contains(refusal([&] { TextSource(folder_ / "a.jsonl", index_, options_).sample(0); }),
                       "a.jsonl:1: its weight or its document is not the one that was counted"));
}

TEST_F(Index, IsRefusedWhenABitIsFlippedOrTheEndIsMissing) {
  open("a.jsonl", lines_);
  const std::string whole = read(index_);
  for (std::size_t place = 0; place < whole.size(); place += 13) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    write("index.bin", damaged);
    EXPECT_TRUE(contains(refusal([&] { SampleIndex{index_}; }), "index.bin: is ")) << place;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{8}, std::size_t{100}, whole.size() - 1}) {
    write("index.bin", whole.substr(0, length));
    EXPECT_TRUE(contains(refusal([&] { SampleIndex{index_}; }), "index.bin: is ")) << length;
  }
}

TEST_F(Index, WithAFittingDigestButPartsThatDoNotFitIsRefused) {
  const auto refused_body = [&](const std::string& body) {
    write("index.bin", body + xxh3_128_hex(body));
    return refusal([&] { SampleIndex{index_}; });
  };
  const std::string magic(kIndexMagic);
  EXPECT_TRUE(contains(refused_body(magic + std::string(8, '\xFF')), "parts do not fit"));
  EXPECT_TRUE(contains(refused_body(magic + std::string(8, '\0')), "is damaged"));
  EXPECT_TRUE(contains(refused_body(magic + "{}" + std::string("\2\0\0\0\0\0\0\0", 8)), "is damaged"));
  EXPECT_TRUE(contains(refused_body(magic + R"({"format":2})" + std::string("\14\0\0\0\0\0\0\0", 8)), "has format 2"));
}

TEST_F(Index, OfOtherOptionsIsRefused) {
  const auto source = open("a.jsonl", lines_);
  TextOptions other = options_;
  other.context = 65;
  EXPECT_TRUE(contains(refusal([&] { TextSource(folder_ / "a.jsonl", index_, other); }), "\"context\":64"));
}

TEST_F(Index, OfAFileThatChangedIsRefusedAtOpeningOrAtTheSample) {
  const auto source = open("a.jsonl", lines_);
  write("a.jsonl", lines_ + " ");
  EXPECT_TRUE(contains(refusal([&] { TextSource(folder_ / "a.jsonl", index_, options_); }),
                       "135 bytes, 134 when it was indexed"));

  std::string changed = lines_;
  changed.replace(changed.find("one"), 3, "\\n1");
  write("a.jsonl", changed);
  EXPECT_TRUE(contains(refusal([&] { TextSource(folder_ / "a.jsonl", index_, options_).sample(0); }),
                       "a.jsonl:1: 2 tokens, 2 of them supervised; counted were 3 and 3"));
  changed.replace(0, 1, "[");
  write("a.jsonl", changed);
  EXPECT_TRUE(contains(refusal([&] { TextSource(folder_ / "a.jsonl", index_, options_).sample(0); }),
                       "a.jsonl:1: not valid JSON"));
}

TEST_F(Index, OfAFileThatIsShortenedDuringTheRunIsAnErrorOfThatFile) {
  const auto source = open("a.jsonl", lines_);
  std::filesystem::resize_file(folder_ / "a.jsonl", 20);
  EXPECT_TRUE(contains(refusal([&] { source->sample(0); }), "a.jsonl:1: the file was written to while it was in use"));
  EXPECT_TRUE(contains(refusal([&] { source->sample(2); }), "a.jsonl:4: the file ends before the sample does"));
}

TEST_F(Index, OfAFileThatIsOverwrittenDuringTheRunByAsManyTokensIsAnErrorOfThatFile) {
  const auto source = open("a.jsonl", lines_);
  EXPECT_EQ(inputs_text(source->sample(0)), "one");
  const auto written = std::filesystem::last_write_time(folder_ / "a.jsonl");
  std::string changed = lines_;
  changed.replace(changed.find("one"), 3, "two");
  write("a.jsonl", changed);
  std::filesystem::last_write_time(folder_ / "a.jsonl", written + std::chrono::seconds(1));  // as a clock would
  EXPECT_TRUE(contains(refusal([&] { source->sample(0); }), "a.jsonl:1: the file was written to while it was in use"));
}

TEST_F(Index, ThatIsNotCommittedLeavesTheOldOneInPlace) {
  open("a.jsonl", lines_);
  const std::string before = read(index_);
  build_sample_index(write("b.jsonl", R"({"text":"other"})"), index_, options_);
  EXPECT_EQ(read(index_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3);
}

}  // namespace
}  // namespace samegrad
