#include "samegrad/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "samegrad/base/check.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

TEST(SafetensorsWriter, BytesAreThoseOfTheFormatWrittenByHand) {
  const std::array<float, 2> values = {1.0F, -2.0F};
  const std::array<std::uint8_t, 1> flag = {255};
  const std::vector<TensorView> tensors = {{"b", TensorType::kFloat32, {1, 2}, std::as_bytes(std::span(values))},
                                           {"a\"", TensorType::kUint8, {}, std::as_bytes(std::span(flag))}};
  const std::string json = R"({"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                           R"("a\"":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  ASSERT_EQ(json.size(), 134U);  // 8 + 134 = 142, so 50 spaces to 192
  const std::string expected = std::string("\xB8\0\0\0\0\0\0\0", 8) + json + std::string(50, ' ') +
                               std::string("\x00\x00\x80\x3F\x00\x00\x00\xC0", 8) + "\xFF";
  EXPECT_EQ(safetensors_bytes(tensors, {{"k", "v"}}), expected);
}

TEST(SafetensorsWriter, NoTensorsGiveTheSmallestFile) {
  EXPECT_EQ(safetensors_bytes({}), std::string("\x38\0\0\0\0\0\0\0", 8) + "{}" + std::string(54, ' '));
}

TEST(SafetensorsWriter, EqualInputGivesEqualBytesAndOtherValuesDoNot) {
  const SmallContent a(1.0F);
  const SmallContent b(1.0F);
  const SmallContent c(2.0F);
  EXPECT_EQ(safetensors_bytes(a.content.model), safetensors_bytes(b.content.model));
  EXPECT_NE(safetensors_bytes(a.content.model), safetensors_bytes(c.content.model));
}

TEST(SafetensorsWriter, RefusesWhatTheReaderWouldRefuse) {
  const std::array<float, 2> values = {1.0F, 2.0F};
  const auto bytes = std::as_bytes(std::span(values));
  const auto refused = [](const std::vector<TensorView>& tensors) {
    return !error_text<InvariantError>([&] { safetensors_bytes(tensors); }).empty();
  };
  EXPECT_FALSE(refused({{"a", TensorType::kFloat32, {2}, bytes}, {"b", TensorType::kFloat32, {2}, bytes}}));
  EXPECT_TRUE(refused({{"a", TensorType::kFloat32, {2}, bytes}, {"a", TensorType::kFloat32, {2}, bytes}}));
  EXPECT_TRUE(refused({{"__metadata__", TensorType::kFloat32, {2}, bytes}}));
  EXPECT_TRUE(refused({{"a", TensorType::kFloat32, {3}, bytes}}));
  EXPECT_TRUE(refused({{"a", TensorType::kFloat32, {-1, -2}, bytes}}));
  EXPECT_TRUE(refused({{"a", TensorType::kFloat32, {std::int64_t{1} << 62, 8, 2}, bytes}}));
  EXPECT_TRUE(refused({{"a\xFF", TensorType::kFloat32, {2}, bytes}}));
}

TEST(SafetensorsFile, ReadsBackEveryTypeBitForBit) {
  const std::array<float, 3> f32 = {-0.0F, std::numeric_limits<float>::denorm_min(), std::nanf("5")};
  const std::array<double, 1> f64 = {0.1};
  const std::array<std::int64_t, 2> i64 = {std::numeric_limits<std::int64_t>::min(), 1};
  const std::array<std::uint8_t, 3> u8 = {0, 128, 255};
  const std::vector<TensorView> tensors = {{"z", TensorType::kFloat32, {3, 1}, std::as_bytes(std::span(f32))},
                                           {"nothing", TensorType::kFloat64, {4, 0}, {}},
                                           {"a", TensorType::kFloat64, {}, std::as_bytes(std::span(f64))},
                                           {"\u00e9", TensorType::kInt64, {2}, std::as_bytes(std::span(i64))},
                                           {"", TensorType::kUint8, {3}, std::as_bytes(std::span(u8))}};
  const TemporaryFolder folder;
  write_text(folder.path() / "x", safetensors_bytes(tensors, {{"one", "1\n"}, {"two", ""}}));
  const SafetensorsFile file(folder.path() / "x");

  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"one", "1\n"}, {"two", ""}}));
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& read = file.tensors()[i];
    EXPECT_EQ(read.name, tensors[i].name);
    EXPECT_EQ(read.type, tensors[i].type);
    EXPECT_EQ(read.shape, tensors[i].shape);
    EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), tensors[i].bytes.begin(), tensors[i].bytes.end()));
    EXPECT_EQ(file.find(tensors[i].name), &read);
  }
  EXPECT_EQ(file.find("b"), nullptr);
}

}  // namespace
}  // namespace samegrad
