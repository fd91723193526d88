#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/safetensors.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

std::string file_of(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  write_text(folder.path() / "x", bytes);
  return error_text<CheckError>([&] { SafetensorsFile(folder.path() / "x"); });
}

std::string refusal_of_header(const std::string& header, std::size_t data_bytes = 8) {
  return refusal(file_of(header.size(), header + std::string(data_bytes, 'd')));
}

/// One tensor `a` with these members.
std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

/// ",1" so many times.
std::string ones(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += ",1";
  return text;
}

const char* const kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(SafetensorsHostile, AShapeHasUpTo64Numbers) {
  EXPECT_EQ(refusal_of_header("{\"a\":" + tensor("\"F32\"", "[2" + ones(63) + "]", "[0,8]") + "}"), "");
}

TEST(SafetensorsHostile, TheGoodFileThatTheOthersAreMadeFromIsRead) {
  EXPECT_EQ(refusal_of_header(kGood), "");
  EXPECT_EQ(refusal_of_header(std::string(kGood) + " \n\t "), "");
}

struct Case {
  std::string name;
  std::string header;
  std::string reason;
};

std::vector<Case> hostile_headers() {
  const std::string good = tensor("\"F32\"", "[2]", "[0,8]");
  const std::string name_of_a = "{\"a\":";
  const auto one = [&](const std::string& members) { return name_of_a + members + "}"; };
  return {
      {"NotJson", "{nonsense", "not JSON"},
      {"Cut", std::string(kGood).substr(0, 40), "not JSON"},
      {"LeadingSpace", std::string(" ") + kGood, "not one JSON object"},
      {"Array", "[1]", "not one JSON object"},
      {"Empty", "", "not one JSON object"},
      {"TextBehind", std::string(kGood) + "x", "not JSON"},
      {"SecondObject", std::string(kGood) + kGood, "not JSON"},
      {"NulThenMore", std::string(kGood) + std::string("\0{}", 3), "NUL"},
      {"NotUtf8", "{\"a\xFF\":" + good + "}", "not JSON"},
      {"OverlongUtf8", "{\"a\xC0\x80\":" + good + "}", "not JSON"},
      {"Surrogate", "{\"a\xED\xA0\x80\":" + good + "}", "not JSON"},
      {"NameTwice", "{\"a\":" + good + ",\"a\":" + good + "}", "'a' twice"},
      {"NameTwiceEscaped", "{\"a\":" + good + R"(,"\u0061":)" + good + "}", "'a' twice"},
      {"MetadataTwice", R"({"__metadata__":{},"__metadata__":{}})", "'__metadata__' twice"},
      {"MetadataKeyTwice", R"({"__metadata__":{"k":"1","k":"2"}})", "'k' twice"},
      {"MetadataNumber", R"({"__metadata__":{"k":1}})", "the number 1"},
      {"MetadataNull", R"({"__metadata__":{"k":null}})", "null"},
      {"MetadataObject", R"({"__metadata__":{"k":{}}})", "an object"},
      {"MetadataText", R"({"__metadata__":"k"})", "the text 'k'"},
      {"Dimensions", one(tensor("\"F32\"", "[2" + ones(64) + "]", "[0,8]")), "more than 64 numbers"},
      {"MemberTwice", one(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"), "'dtype' twice"},
      {"MemberUnknown", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"), "unknown member 'x'"},
      {"MemberMissing", one(R"({"dtype":"F32","shape":[2]})"), "not all are there"},
      {"TensorNumber", one("1"), "the number 1"},
      {"TensorArray", one("[]"), "an array"},
      {"TypeUnknown", one(tensor("\"F33\"", "[2]", "[0,8]")), "dtype 'F33'"},
      {"TypeKnownElsewhere", one(tensor("\"F8_E4M3\"", "[4]", "[0,8]")), "dtype 'F8_E4M3'"},
      {"TypeNumber", one(tensor("4", "[2]", "[0,8]")), "the number 4"},
      {"ShapeNegative", one(tensor("\"F32\"", "[-2]", "[0,8]")), "the number -2"},
      {"ShapeMinusZero", one(tensor("\"F32\"", "[-0]", "[0,0]")), "the number 0"},
      {"ShapeFraction", one(tensor("\"F32\"", "[2.0]", "[0,8]")), "the number 2.0"},
      {"ShapeExponent", one(tensor("\"F32\"", "[2e0]", "[0,8]")), "the number 2e0"},
      {"ShapeText", one(tensor("\"F32\"", "[\"2\"]", "[0,8]")), "the text '2'"},
      {"ShapeNested", one(tensor("\"F32\"", "[[2]]", "[0,8]")), "an array"},
      {"ShapeNotArray", one(tensor("\"F32\"", "2", "[0,8]")), "the number 2"},
      {"ShapeAboveInt64", one(tensor("\"F32\"", "[9223372036854775808]", "[0,8]")), "the number 9223372036854775808"},
      {"ShapeAboveUint64", one(tensor("\"F32\"", "[18446744073709551616]", "[0,8]")), "18446744073709551616"},
      {"ProductWrapsToZero", one(tensor("\"F32\"", "[4611686018427387904,4]", "[0,0]")), "do not fit"},
      {"ProductWrapsToFit", one(tensor("\"F32\"", "[4611686018427387906,1]", "[0,8]")), "do not fit"},
      {"ProductPassesOverflowToZero", one(tensor("\"F32\"", "[9223372036854775807,9,0]", "[0,0]")), "do not fit"},
      {"OffsetsBackwards", one(tensor("\"F32\"", "[2]", "[8,0]")), "data_offsets [8,0]"},
      {"OffsetsBehindTheEnd", one(tensor("\"F32\"", "[4]", "[0,16]")), "the data has 8 bytes"},
      {"OffsetsHuge", one(tensor("\"F32\"", "[2]", "[0,9223372036854775807]")), "the data has 8 bytes"},
      {"OffsetsOne", one(tensor("\"F32\"", "[2]", "[8]")), "not all are there"},
      {"OffsetsThree", one(tensor("\"F32\"", "[2]", "[0,8,8]")), "more than two"},
      {"OffsetsNegative", one(tensor("\"F32\"", "[2]", "[-8,0]")), "the number -8"},
      {"SizeDoesNotFitShape", one(tensor("\"F32\"", "[1]", "[0,8]")), "do not fit"},
      {"SizeDoesNotFitType", one(tensor("\"F64\"", "[2]", "[0,8]")), "do not fit"},
      {"GapBefore", one(tensor("\"F32\"", "[1]", "[4,8]")), "the tensor before ends at 0"},
      {"GapBetween", "{\"a\":" + tensor("\"U8\"", "[2]", "[0,2]") + ",\"b\":" + tensor("\"U8\"", "[5]", "[3,8]") + "}",
       "the tensor before ends at 2"},
      {"GapBehind", one(tensor("\"F32\"", "[1]", "[0,4]")), "end at byte 4"},
      {"Overlap", "{\"a\":" + tensor("\"F32\"", "[2]", "[0,8]") + ",\"b\":" + tensor("\"F32\"", "[1]", "[4,8]") + "}",
       "the tensor before ends at 8"},
      {"SamePlace", "{\"a\":" + good + ",\"b\":" + good + "}", "the tensor before ends at 8"},
      {"DataWithoutTensors", "{}", "end at byte 0"},
      {"LongNameIsCut", "{\"" + std::string(100000, 'n') + "\":1}", "nnn..."},
      {"NameWithEscapeSequence", R"({"\u001b[2J":1})", R"(\u001b[2J)"},
      {"DeepArrays", "{\"a\":" + std::string(1'000'000, '['), "an array"},
      {"DeepObjects", R"({"__metadata__":{"a":)" + std::string(1'000'000, '{'), "an object"},
  };
}

TEST(SafetensorsHostile, EachHeaderIsRefusedForItsReasonInOneShortLine) {
  for (const Case& hostile : hostile_headers()) {
    const std::string text = refusal_of_header(hostile.header);
    EXPECT_NE(text.find(hostile.reason), std::string::npos) << hostile.name << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << hostile.name;
    EXPECT_LT(text.size(), 1000U) << hostile.name;
  }
}

TEST(SafetensorsHostile, HeaderLengthIsCheckedBeforeItIsUsed) {
  EXPECT_NE(refusal("").find("0 bytes"), std::string::npos);
  EXPECT_NE(refusal("1234567").find("7 bytes"), std::string::npos);
  EXPECT_NE(refusal(file_of(3, "{}")).find("header length: 3"), std::string::npos);
  EXPECT_NE(refusal(file_of(~std::uint64_t{0}, kGood)).find("header length: 18446744073709551615"), std::string::npos);
  EXPECT_NE(refusal(file_of(~std::uint64_t{0} - 7, kGood)).find("header length"), std::string::npos);
}

TEST(SafetensorsHostile, HeaderAboveHundredMegabytesIsRefusedUnread) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "x";
  write_text(path, file_of(100'000'001, "{"));
  std::filesystem::resize_file(path, 200'000'000);
  const std::string text = error_text<CheckError>([&] { SafetensorsFile file(path); });
  EXPECT_NE(text.find("header length: 100000001, at most 100000000"), std::string::npos) << text;
}

TEST(SafetensorsHostile, NoRegularFileIsAnInputError) {
  const TemporaryFolder folder;
  const std::filesystem::path fifo = folder.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder.path() / "missing", folder.path(), fifo}) {
    EXPECT_NE(error_text<InputError>([&] { SafetensorsFile file(path); }), "") << path;
  }
}

TEST(SafetensorsHostile, EmptyTensorsMayStandWhereOthersBegin) {
  EXPECT_EQ(refusal_of_header("{\"b\":" + tensor("\"F32\"", "[2]", "[0,8]") + ",\"e\":" +
                              tensor("\"F32\"", "[0]", "[8,8]") + ",\"a\":" + tensor("\"U8\"", "[0,5]", "[0,0]") + "}"),
            "");
}

}  // namespace
}  // namespace samegrad
