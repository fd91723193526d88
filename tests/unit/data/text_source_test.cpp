#include "samegrad/data/text_source.h"

#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

class TextFile : public TextFixture {};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

TEST_F(TextFile, TargetsAreTheNextTokensAndTheFirstTokenIsNone) {
  const auto source = open("a.jsonl", R"({"prompt":"ab","completion":"cd"})");
  const Sample sample = source->sample(0);
  EXPECT_EQ(sample.inputs, (std::vector<std::int32_t>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(sample.targets, (std::vector<std::int32_t>{-100, 'c', 'd', kEndToken}));
  EXPECT_EQ(source->input_tokens(0), 4);
  EXPECT_EQ(source->supervised_tokens(0), 3);
}

// Regression of case 3: labels counted before the shift gave one phantom token a row.
TEST_F(TextFile, TwoRowsOfFiveSupervisedTokensCountEightAfterTheShift) {
  const auto source = open("a.jsonl", R"({"input_ids":[1,2,3,4,5]})"
                                      "\n"
                                      R"({"text":"wxyz"})"
                                      "\n");
  EXPECT_EQ(source->report().supervised_tokens, 8);
  EXPECT_EQ(source->supervised_tokens(0) + source->supervised_tokens(1), 8);
}

TEST_F(TextFile, ARowWhoseFirstTokenIsMaskedLosesNothingInTheShift) {
  EXPECT_EQ(open("a.jsonl", R"({"input_ids":[1,2,3,4,5],"labels":[-100,2,3,4,5]})")->supervised_tokens(0), 4);
}

TEST_F(TextFile, ARowOfOneTokenStaysWithACountOfZeroAndIsReported) {
  const auto source = open("a.jsonl", R"({"input_ids":[1]})"
                                      "\n"
                                      R"({"text":"a"})"
                                      "\n"
                                      R"({"input_ids":[]})");
  EXPECT_EQ(source->size(), 3);
  EXPECT_EQ(source->supervised_tokens(0), 0);
  EXPECT_TRUE(source->sample(0).inputs.empty());
  EXPECT_EQ(source->report().unsupervised_samples, 2);
  EXPECT_EQ(source->report().first_unsupervised.front().line, 1);
  EXPECT_TRUE(contains(joined(ingest_lines(source->report())), "line 1: a single token"));
}

// Regression of case 22: a blank line dropped the whole file.
TEST_F(TextFile, BlankLinesAreSkippedAndCounted) {
  const auto source = open("A.jsonl", "{\"text\":\"one\"}\n\n{\"text\":\"two\"}\n   ");
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(inputs_text(source->sample(1)), "two");
  EXPECT_TRUE(contains(joined(ingest_lines(source->report())), "2 blank lines skipped"));
}

TEST_F(TextFile, ACutLineIsRefusedByFileAndLine) {
  const std::string message = refused("B.jsonl", "{\"text\":\"one\"}\n{\"text\": \"abc\n{\"text\":\"two\"}\n");
  EXPECT_TRUE(contains(message, "[data] " + (folder_ / "B.jsonl:2: not valid JSON").string()));
}

TEST_F(TextFile, WithSkipBadLinesTheyAreCountedAndShown) {
  options_.skip_bad_lines = true;
  const auto source = open("B.jsonl", "{\"text\":\"one\"}\n{\"text\": \"abc\n{\"text\":\"two\"}\n");
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(inputs_text(source->sample(1)), "two");
  EXPECT_EQ(source->report().bad_lines, 1);
  const std::string lines = joined(ingest_lines(source->report()));
  EXPECT_TRUE(contains(lines, "1 bad line skipped"));
  EXPECT_TRUE(contains(lines, "B.jsonl:2: not valid JSON"));
}

TEST_F(TextFile, OnlyTheFirstTenBadLinesAreShownAndAllAreCounted) {
  options_.skip_bad_lines = true;
  std::string bytes = "{\"text\":\"one\"}\n";
  for (int i = 0; i < 25; ++i) bytes += "bad\n";
  const auto source = open("B.jsonl", bytes);
  EXPECT_EQ(source->report().bad_lines, 25);
  EXPECT_EQ(source->report().first_bad.size(), 10U);
  EXPECT_EQ(source->report().first_bad.back().line, 11);
  EXPECT_TRUE(contains(joined(ingest_lines(source->report())), "and 15 more"));
}

// Regression of case 23: the answer was cut away, and nobody was told.
TEST_F(TextFile, CutsToTheContextAndReportsWhatSurvivesByLine) {
  const auto source = open("a.jsonl", prompt_line(63, 12) + prompt_line(75, 11));
  EXPECT_EQ(source->input_tokens(0), 63);
  EXPECT_EQ(source->supervised_tokens(0), 1);
  EXPECT_EQ(source->sample(0).targets.back(), 'c');
  EXPECT_EQ(source->supervised_tokens(1), 0);
  EXPECT_EQ(source->report().supervised_tokens, 1);
  EXPECT_EQ(source->report().longest, 87);
  const std::string lines = joined(ingest_lines(source->report()));
  EXPECT_TRUE(contains(lines, "line 1: 1 of 13 supervised tokens survive max-len 64"));
  EXPECT_TRUE(contains(lines, "line 2: 0 of 12 supervised tokens survive max-len 64"));
  EXPECT_TRUE(contains(lines, "line 2: the cut to the context leaves none"));
}

TEST_F(TextFile, OfExactlyTheContextIsNotCut) {
  const auto source = open("a.jsonl", prompt_line(60, 3) + prompt_line(60, 4));
  EXPECT_EQ(source->supervised_tokens(0), 4);
  EXPECT_EQ(source->report().cut_samples, 1);
  EXPECT_EQ(source->report().first_cut.front().line, 2);
}

TEST_F(TextFile, WithNothingToLearnFromIsRefusedAndSaysWhy) {
  EXPECT_TRUE(contains(refused("a.jsonl", prompt_line(75, 11)), "a.jsonl: 0 supervised tokens in 1 samples"));
  std::filesystem::remove(folder_ / "a.jsonl");
  EXPECT_TRUE(contains(refused("b.jsonl", R"({"prompt":"abc","answer":""})"), "line 1: the completion is empty"));
  std::filesystem::remove(folder_ / "b.jsonl");
  EXPECT_TRUE(contains(refused("c.jsonl", ""), "c.jsonl: 0 samples"));
  std::filesystem::remove(folder_ / "c.jsonl");
  EXPECT_TRUE(contains(refused("d.jsonl", "\n \n"), "d.jsonl: 0 samples"));
  std::filesystem::remove(folder_ / "d.jsonl");
  options_.skip_bad_lines = true;
  EXPECT_TRUE(contains(refused("e.jsonl", "bad\nbad\n"), "0 samples (2 bad lines skipped; first: "));
}

TEST_F(TextFile, IsTheSameForEveryEncodingOfLineEnds) {
  const std::string plain = "{\"text\":\"one\"}\n{\"prompt\":\"\xC3\xA4\",\"answer\":\"two\"}\n{\"text\":\"three\"}\n";
  std::string crlf;
  for (const char byte : plain) crlf += byte == '\n' ? "\r\n" : std::string(1, byte);
  const std::vector<Sample> expected = samples_of(*open("plain.jsonl", plain));
  ASSERT_EQ(expected.size(), 3U);
  const std::string without_end = plain.substr(0, plain.size() - 1);
  const std::string blank = "\n  \n" + plain + "\t\n";
  for (const std::string& bytes : {crlf, without_end, "\xEF\xBB\xBF" + plain, "\xEF\xBB\xBF" + crlf, blank}) {
    EXPECT_TRUE(same_samples(samples_of(*open("other.jsonl", bytes)), expected)) << bytes;
  }
}

TEST_F(TextFile, DocumentsAreSeparatedByBlankLines) {
  options_.format = TextFormat::kDocuments;
  const auto source = open("a.txt", "\n\n one\ntwo\n\n \t\nthree\n");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(inputs_text(source->sample(0)), " one\ntwo");
  EXPECT_EQ(source->sample(0).targets.back(), kEndToken);
  EXPECT_EQ(inputs_text(source->sample(1)), "three");
}

TEST_F(TextFile, DocumentsAreTheSameForEveryEncodingOfLineEnds) {
  options_.format = TextFormat::kDocuments;
  const std::vector<Sample> expected = samples_of(*open("a.txt", "one\ntwo\n\nthree\n"));
  for (const std::string bytes : {"one\r\ntwo\r\n\r\nthree\r\n", "one\ntwo\n\nthree",
                                  "\xEF\xBB\xBFone\ntwo\n  \n\n\nthree\n\n", "\r\none\ntwo\r\n\nthree"}) {
    EXPECT_TRUE(same_samples(samples_of(*open("a.txt", bytes)), expected)) << bytes;
  }
}

TEST_F(TextFile, ADocumentWithBadUtf8IsNamedByTheLineAndSkippedWhole) {
  options_.format = TextFormat::kDocuments;
  const std::string bytes = "one\n\ntwo\nbad\xC0\xAF\nmore\xFF\n\nthree\n";
  EXPECT_TRUE(contains(refused("a.txt", bytes), "a.txt:4: not valid UTF-8"));
  options_.skip_bad_lines = true;
  const auto source = open("a.txt", bytes);
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(inputs_text(source->sample(1)), "three");
  EXPECT_EQ(source->report().bad_lines, 1);
}

TEST_F(TextFile, AStreamIsCutIntoPiecesOfTheContext) {
  options_.format = TextFormat::kStream;
  options_.context = 4;
  for (const std::string bytes : {"abc\n\ndefg\n",
                                  "\xEF\xBB\xBF"
                                  "abc\r\n\r\ndefg",
                                  "abc\n\ndefg"}) {
    const auto source = open("a.txt", bytes);
    ASSERT_EQ(source->size(), 3) << bytes;
    EXPECT_EQ(inputs_text(source->sample(0)), "abc");
    EXPECT_EQ(source->sample(0).targets, (std::vector<std::int32_t>{'b', 'c', '\n'}));
    EXPECT_EQ(source->sample(1).inputs, (std::vector<std::int32_t>{'\n', 'd', 'e'}));
    EXPECT_EQ(source->sample(1).targets.back(), 'f');
    EXPECT_EQ(source->sample(2).inputs, (std::vector<std::int32_t>{'g'}));
    EXPECT_EQ(source->sample(2).targets, (std::vector<std::int32_t>{kEndToken}));
    EXPECT_EQ(source->report().cut_samples, 0);
  }
}

TEST_F(TextFile, AStreamOfNothingHasNoSamples) {
  options_.format = TextFormat::kStream;
  EXPECT_TRUE(contains(refused("a.txt", "\r\n"), "0 samples"));
}

TEST_F(TextFile, ThatIsMissingOrNoFileIsRefusedByName) {
  EXPECT_TRUE(contains(refusal([&] { build_sample_index(folder_ / "none.jsonl", index_, options_); }),
                       "none.jsonl: cannot be opened: No such file"));
  EXPECT_TRUE(contains(refusal([&] { build_sample_index(folder_, index_, options_); }), "a regular file is needed"));
}

TEST(TextOptions, ComeFromTheNameAndTheConfig) {
  RunConfig config;
  config.model.positions = 99;
  config.model.vocabulary = 256;
  EXPECT_EQ(text_options(config, "a.jsonl").format, TextFormat::kJsonl);
  EXPECT_EQ(text_options(config, "a.jsonl").context, 99);
  EXPECT_EQ(text_options(config, "x/a.txt").format, TextFormat::kDocuments);
  config.data.txt = "stream";
  EXPECT_EQ(text_options(config, "a.txt").format, TextFormat::kStream);
  EXPECT_TRUE(contains(refusal([&] { text_options(config, "a.csv"); }), "ends in '.csv'"));
  config.model.vocabulary = 255;
  EXPECT_TRUE(contains(refusal([&] { text_options(config, "a.txt"); }), "model.vocabulary is 255"));
  config.model.positions = 1;
  EXPECT_TRUE(contains(refusal([&] { text_options(config, "a.jsonl"); }), "model.positions: 1"));
}

}  // namespace
}  // namespace samegrad
