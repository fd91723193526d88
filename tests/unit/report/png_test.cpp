#include "samegrad/report/png.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "samegrad/report/figures.h"

namespace samegrad {
namespace {

class Png : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(svg_) << loss_figure({});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("samegrad_png_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path svg_ = folder_ / "-a figure's.svg";
  std::filesystem::path png_ = folder_ / "a.png";
};

TEST_F(Png, IsMadeAtTwiceTheSize) {
  ASSERT_EQ(convert_to_png(svg_, png_), "");
  std::ifstream in(png_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(bytes.size(), 24U);
  EXPECT_EQ(bytes.substr(1, 3), "PNG");
  // IHDR: width and height, big-endian, from byte 16.
  const auto number = [&bytes](std::size_t at) {
    return static_cast<unsigned char>(bytes[at + 2]) * 256 + static_cast<unsigned char>(bytes[at + 3]);
  };
  EXPECT_EQ(number(16), 1800);
  EXPECT_EQ(number(20), 1080);
}

TEST_F(Png, WithoutTheProgramTheMessageNamesItAndTheSvgStays) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  const std::string message = convert_to_png(svg_, png_);
  setenv("PATH", path.c_str(), 1);
  EXPECT_NE(message.find("rsvg-convert is not installed"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::exists(svg_));
  EXPECT_FALSE(std::filesystem::exists(png_));
}

TEST_F(Png, ABrokenSvgLeavesNoFile) {
  std::ofstream(svg_) << "<svg";
  EXPECT_NE(convert_to_png(svg_, png_).find("rsvg-convert ended with"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(png_));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace samegrad
