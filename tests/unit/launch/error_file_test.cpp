#include "samegrad/launch/error_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "samegrad/base/json.h"

namespace samegrad {
namespace {

class ErrorFile : public ::testing::Test {
 protected:
  ErrorFile() {
    std::string name = ::testing::TempDir() + "samegrad_error_XXXXXX";
    folder_ = mkdtemp(name.data());
    file_ = folder_ / "error.json";
  }
  ~ErrorFile() override {
    unsetenv(kErrorFileVariable);
    std::filesystem::remove_all(folder_);
  }
  void hold(const std::string& text) const { std::ofstream(file_) << text; }

  std::filesystem::path folder_;
  std::filesystem::path file_;
};

TEST_F(ErrorFile, HasTheFormThatTorchrunReads) {
  setenv(kErrorFileVariable, file_.c_str(), 1);
  ASSERT_TRUE(write_error_file("[train] boom"));
  const Json json = read_json_file(file_, "test");
  EXPECT_EQ(json["message"]["message"], "[train] boom");
  EXPECT_EQ(json["message"]["extraInfo"]["py_callstack"], "[train] boom");
  EXPECT_GT(std::stoll(json["message"]["extraInfo"]["timestamp"].get<std::string>()), 1'600'000'000);
  EXPECT_EQ(read_error_file(file_), "[train] boom");
}

TEST_F(ErrorFile, OfAConsequenceIsLaterThanThatOfItsCause) {
  setenv(kErrorFileVariable, file_.c_str(), 1);
  const auto time_of = [&](bool is_consequence) {
    EXPECT_TRUE(write_error_file("boom", is_consequence));
    return std::stoll(read_json_file(file_, "test")["message"]["extraInfo"]["timestamp"].get<std::string>());
  };
  const auto cause = time_of(false);
  EXPECT_GT(time_of(true), cause);
}

TEST_F(ErrorFile, NobodyAskedForOneIsNoFailureAndAPlaceThatIsNotThereIs) {
  unsetenv(kErrorFileVariable);
  EXPECT_TRUE(write_error_file("x"));
  setenv(kErrorFileVariable, (folder_ / "absent/error.json").c_str(), 1);
  EXPECT_FALSE(write_error_file("x"));
}

TEST_F(ErrorFile, OfAPythonProgramGivesTheFirstLineOfItsMessage) {
  hold(R"({"message": {"message": "ValueError: boom\nmore", "extraInfo": {"py_callstack": "...", "timestamp": "1"}}})");
  EXPECT_EQ(read_error_file(file_), "ValueError: boom");
  hold(R"({"message": "plain"})");
  EXPECT_EQ(read_error_file(file_), "plain");
}

TEST_F(ErrorFile, WhatIsNoSuchFileCountsAsNone) {
  EXPECT_EQ(read_error_file(file_), std::nullopt);
  for (const char* text : {"", "{", "[]", "{}", R"({"message": 7})", R"({"message": {"message": []}})"}) {
    hold(text);
    EXPECT_EQ(read_error_file(file_), std::nullopt) << text;
  }
  hold(std::string(2'000'000, ' '));
  EXPECT_EQ(read_error_file(file_), std::nullopt);
  std::filesystem::remove(file_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(read_error_file(file_), std::nullopt);  // and does not wait
}

}  // namespace
}  // namespace samegrad
