#include "samegrad/data/json_sample.h"

#include <gtest/gtest.h>

#include <string>

#include "samegrad/data/bad_line.h"
#include "tests/unit/data/data_fixture.h"

namespace samegrad {
namespace {

using std::string_literals::operator""s;

TokenSequence tokens_of(std::string_view line, std::int64_t vocabulary = kByteVocabulary) {
  JsonLine parser;
  TokenSequence sequence;
  json_tokens(parser, line, vocabulary, sequence);
  return sequence;
}

/// The tokens as text, E for the end token, and below each supervised one the same, else a dot.
std::string shown(std::string_view line) {
  const TokenSequence sequence = tokens_of(line);
  std::string text;
  std::string marks;
  for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
    const char token = sequence.tokens[i] == kEndToken ? 'E' : static_cast<char>(sequence.tokens[i]);
    text += token;
    marks += sequence.labels[i] == kIgnoreTarget ? '.' : token;
    EXPECT_TRUE(sequence.labels[i] == kIgnoreTarget || sequence.labels[i] == sequence.tokens[i]);
  }
  return text + "|" + marks;
}

std::string refused(std::string_view line, std::int64_t vocabulary = kByteVocabulary) {
  return refusal<BadLine>([&] { tokens_of(line, vocabulary); });
}

TEST(JsonSample, TextIsSupervisedWholeAndEnds) {
  EXPECT_EQ(shown(R"({"text":"hello"})"), "helloE|helloE");
  EXPECT_EQ(shown(R"({"text":""})"), "E|E");
  EXPECT_EQ(shown(R"({"id": 7, "labels": "x", "text": "a", "meta": {"text": [1, null]}})"), "aE|aE");
}

TEST(JsonSample, OnlyTheCompletionIsSupervised) {
  EXPECT_EQ(shown(R"({"prompt":"2+2=","completion":"4!"})"), "2+2=4!E|....4!E");
  EXPECT_EQ(shown(R"({"answer":"4","prompt":"2+2="})"), "2+2=4E|....4E");
  EXPECT_EQ(shown(R"({"prompt":"","completion":"ab"})"), "abE|abE");
}

TEST(JsonSample, AnEmptyCompletionSupervisesNothingAndIsCounted) {
  EXPECT_EQ(shown(R"({"prompt":"abc","answer":""})"), "abcE|....");
  EXPECT_EQ(tokens_of(R"({"prompt":"abc","answer":""})").empty_completions, 1);
  EXPECT_EQ(tokens_of(R"({"prompt":"abc","answer":" "})").empty_completions, 0);
}

TEST(JsonSample, OfMessagesOnlyTheAssistantsContentsAreSupervised) {
  EXPECT_EQ(shown(R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
                      {"role":"assistant","content":"yes"},{"role":"user","content":"v"},
                      {"role":"assistant","content":""}]})"),
            "system: s\nuser: u\nassistant: yesE\nuser: v\nassistant: E\n|"s + std::string(29, '.') + "yesE" +
                std::string(22, '.'));
  EXPECT_EQ(tokens_of(R"({"messages":[{"role":"assistant","content":""}]})").empty_completions, 1);
}

TEST(JsonSample, TokensAreTheBytesOfTheUnescapedText) {
  EXPECT_EQ(tokens_of(R"({"text":"\u00e4\ud83d\ude00\n\u0000\\"})").tokens,
            (std::vector<std::int32_t>{0xC3, 0xA4, 0xF0, 0x9F, 0x98, 0x80, '\n', 0, '\\', kEndToken}));
}

TEST(JsonSample, InputIdsAreTakenAsTheyAre) {
  const TokenSequence labelled = tokens_of(R"({"input_ids":[5,0,299],"labels":[-100,7,299]})", 300);
  EXPECT_EQ(labelled.tokens, (std::vector<std::int32_t>{5, 0, 299}));
  EXPECT_EQ(labelled.labels, (std::vector<std::int32_t>{-100, 7, 299}));
  EXPECT_EQ(tokens_of(R"({"input_ids":[5,6],"attention_mask":[1,1]})").labels, (std::vector<std::int32_t>{5, 6}));
  EXPECT_TRUE(tokens_of(R"({"input_ids":[]})").tokens.empty());
}

TEST(JsonSample, RefusesIdsOutsideTheVocabularyAndListsThatDoNotFit) {
  EXPECT_TRUE(contains(refused(R"({"input_ids":[1,256]})"), "\"input_ids[1]\" is 256; allowed is 0..255"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[-1]})"), "\"input_ids[0]\" is -1; allowed is 0..255"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[-100]})"), "\"input_ids[0]\" is -100"));
  EXPECT_TRUE(
      contains(refused(R"({"input_ids":[1,2],"labels":[-100,-1]})"), "\"labels[1]\" is -1; allowed is 0..255 or -100"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[1,2],"labels":[1]})"), "2 ids and \"labels\" 1"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[1.0]})"), "\"input_ids[0]\" is a number that is no integer"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[4294967297]})"), "is 4294967297"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[18446744073709551615]})"), "no integer of 64 bits"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":["1"]})"), "\"input_ids[0]\" is a string"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[[1]]})"), "\"input_ids[0]\" is a list"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":5})"), "\"input_ids\" is a number; it must be a list"));
  EXPECT_TRUE(contains(refused(R"({"input_ids":[1],"labels":null})"), "\"labels\" is null"));
  EXPECT_TRUE(contains(refused(R"({"text":"a"})", 255), "needs a vocabulary of 256 bytes; model.vocabulary is 255"));
}

TEST(JsonSample, RefusesLinesOfNoFormOrOfSeveral) {
  EXPECT_TRUE(contains(refused(R"({})"), "no form"));
  EXPECT_TRUE(contains(refused(R"({"Text":"a"})"), "no form"));
  EXPECT_TRUE(contains(refused(R"({"labels":[1]})"), "no form"));
  EXPECT_TRUE(contains(refused(R"({"prompt":"a"})"), "no field \"completion\" or \"answer\""));
  EXPECT_TRUE(contains(refused(R"({"completion":"a"})"), "no field \"prompt\""));
  EXPECT_TRUE(contains(refused(R"({"text":"a","input_ids":[1]})"), "fits 2 forms"));
  EXPECT_TRUE(contains(refused(R"({"prompt":"a","completion":"b","answer":"c"})"), "fits 2 forms"));
  EXPECT_TRUE(contains(refused(R"({"text":"a","prompt":"a","completion":"b","messages":[]})"), "fits 3 forms"));
}

TEST(JsonSample, RefusesFieldsOfAnotherType) {
  EXPECT_TRUE(contains(refused(R"({"text":5})"), "\"text\" is a number; it must be a string"));
  EXPECT_TRUE(contains(refused(R"({"text":null})"), "\"text\" is null"));
  EXPECT_TRUE(contains(refused(R"({"prompt":"a","completion":["b"]})"), "\"completion\" is a list"));
  EXPECT_TRUE(contains(refused(R"({"messages":{}})"), "\"messages\" is an object; it must be a list"));
  EXPECT_TRUE(contains(refused(R"({"messages":[]})"), "\"messages\" is empty"));
  EXPECT_TRUE(contains(refused(R"({"messages":["a"]})"), "\"messages[0]\" is no object"));
  EXPECT_TRUE(contains(refused(R"({"messages":[{"role":"user"}]})"), "no field \"messages[0].content\""));
  EXPECT_TRUE(contains(refused(R"({"messages":[{"role":"user","content":null}]})"), "\"messages[0].content\" is null"));
  EXPECT_TRUE(
      contains(refused(R"({"messages":[{"role":"assitant","content":"a"}]})"), "\"messages[0].role\" is \"assitant\""));
  EXPECT_TRUE(contains(refused(R"({"messages":[{"role":"a\nb","content":"a"}]})"), "\"a\\nb\""))
      << "the message stays one line";
}

TEST(JsonSample, AWeightAndADocumentStandBesideAnyForm) {
  EXPECT_EQ(tokens_of(R"({"text":"a"})").weight, std::nullopt);
  EXPECT_EQ(tokens_of(R"({"text":"a","weight":2})").weight, 2.0);
  EXPECT_EQ(tokens_of(R"({"prompt":"a","answer":"b","weight":1e-3})").weight, 1e-3);
  const auto document = [](const std::string& value) {
    return tokens_of(R"({"input_ids":[1],"document":)" + value + "}").document;
  };
  EXPECT_EQ(document("7"), document(R"("7")"));
  EXPECT_NE(document("7"), document("8"));
  EXPECT_NE(document(R"("")"), 0U);
  for (const char* const weight : {"-0.5", "\"1\"", "null", "true", "[1]"}) {
    EXPECT_TRUE(contains(refused(R"({"text":"a","weight":)" + std::string(weight) + "}"),
                         "it must be a finite number of at least 0"))
        << weight;
  }
  for (const char* const weight : {"NaN", "1e999", "-Infinity"}) {
    EXPECT_TRUE(contains(refused(R"({"text":"a","weight":)" + std::string(weight) + "}"), "not valid JSON")) << weight;
  }
  for (const char* const name : {"1.5", "null", "{}", "true", "99999999999999999999"}) {
    EXPECT_FALSE(refused(R"({"text":"a","document":)" + std::string(name) + "}").empty()) << name;
  }
}

TEST(JsonSample, RefusesWhatIsNotExactlyOneJsonObject) {
  for (const char* const line :
       {R"({"text": "abc)", R"({"text":"a"}})", R"({"text":"a"}{"text":"b"})", R"({"text":"a",})", R"({'text':'a'})",
        R"({"text":"a","x":truu})", R"({"text":"a","x":01})", R"({"text":"a","x":1e})", "{\"text\":\"a\tb\"}",
        R"({"text":"a\q"})", R"({"text":NaN})", "nonsense", "{", "\xEF\xBB\xBF{\"text\":\"a\"}"}) {
    EXPECT_TRUE(contains(refused(line), "not valid JSON")) << line;
  }
  EXPECT_TRUE(contains(refused(R"(["text"])"), "the line is a list; it must be a JSON object"));
  EXPECT_TRUE(contains(refused(R"("text")"), "the line is a string"));
}

TEST(JsonSample, RefusesTheSameFieldTwice) {
  EXPECT_TRUE(contains(refused(R"({"text":"a","text":"b"})"), "the field \"text\" stands twice"));
  EXPECT_TRUE(contains(refused(R"({"text":"a","te\u0078t":"b"})"), "the field \"text\" stands twice"));
  EXPECT_TRUE(
      contains(refused(R"({"messages":[{"role":"user","role":"assistant","content":"a"}]})"), "\"role\" stands twice"));
}

TEST(JsonSample, RefusesDeepNestingAlsoInFieldsThatAreIgnored) {
  const auto nested = [](std::size_t depth) {
    return R"({"text":"a","x":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(shown(nested(60)), "aE|aE");
  EXPECT_TRUE(contains(refused(nested(65)), "nested deeper than 64"));
  EXPECT_TRUE(contains(refused(nested(1000)), "nested deeper than 64"));
  EXPECT_TRUE(contains(refused(nested(100000)), "nested deeper than 64"));
}

TEST(JsonSample, RefusesBadUtf8) {
  for (const std::string bytes : {"\xFF", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_TRUE(contains(refused("{\"text\":\"a" + bytes + "\"}"), "not valid UTF-8"));
    EXPECT_TRUE(contains(refused("{\"text\":\"a\",\"ignored\":\"" + bytes + "\"}"), "not valid UTF-8"));
  }
  EXPECT_EQ(refused("{\"text\":\"\xFF\"}").find('\xFF'), std::string::npos) << "the message itself is UTF-8";
}

TEST(JsonSample, RefusesHalfOfASurrogatePair) {
  for (const char* const escape : {R"(\ud800)", R"(\udc00)", R"(\ud800\ud800)", R"(\udbffx)", R"(\ud83dx\ude00)"}) {
    const std::string reason = refused(R"({"prompt":"a","completion":")" + std::string(escape) + "\"}");
    EXPECT_TRUE(contains(reason, "UTF-8") || contains(reason, "not valid JSON")) << escape << ": " << reason;
  }
}

}  // namespace
}  // namespace samegrad
