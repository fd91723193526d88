#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "samegrad/base/digest.h"
#include "tests/unit/base/no_threads.h"
#include "tests/unit/data/text_fixture.h"

namespace samegrad {
namespace {

constexpr std::array<std::size_t, 4> kThreads = {1, 2, 3, 8};
constexpr std::size_t kMiB = std::size_t{1} << 20;

class IndexThreads : public TextFixture {
 protected:
  /// Digests of the indexes that 1, 2, 3 and 8 threads write.
  std::vector<std::string> digests(const std::filesystem::path& data) const {
    std::vector<std::string> all;
    for (const std::size_t threads : kThreads) {
      build_sample_index(data, index_, options_, threads).file->commit();
      all.push_back(sha256_file_hex(index_, "data"));
    }
    return all;
  }

  static std::vector<std::string> as_often(const std::string& value) {
    return std::vector<std::string>(kThreads.size(), value);
  }
};

/// Some MiB of lines of every form and fault, no two samples alike; some are so long that they are read alone.
std::string lines_of_every_kind() {
  std::string lines;
  for (int i = 0; lines.size() < 6 * kMiB; ++i) {
    const std::string n = std::to_string(i);
    lines += R"({"text":")" + std::string(static_cast<std::size_t>(i % 90), 'x') + n + R"(","weight":)" + n + "}\n";
    lines += R"({"messages":[{"role":"user","content":")" + n + R"("},{"role":"assistant","content":""}]})" + "\r\n";
    lines += prompt_line(static_cast<std::size_t>(i % 70), static_cast<std::size_t>(i % 7));
    if (i % 11 == 0) lines += " \n\n";
    if (i % 13 == 0) lines += "{\"text\":" + n + "}\n";
    if (i % 5000 == 700) lines += prompt_line(kMiB, 3);
    if (i == 6000) lines += prompt_line(9 * kMiB, 3);
  }
  return lines;
}

TEST_F(IndexThreads, EveryNumberOfThemWritesTheSameIndexOfJsonLines) {
  options_.skip_bad_lines = true;
  const std::filesystem::path data = write("a.jsonl", lines_of_every_kind());
  const std::vector<std::string> found = digests(data);
  EXPECT_EQ(found, as_often(found.front()));
  const SampleIndex index(index_);
  EXPECT_GT(index.size(), 10000);
  EXPECT_GT(index.report().bad_lines, 400);
  EXPECT_GT(index.report().blank_lines, 1000);
  for (std::int64_t id = 1; id < index.size(); ++id) {
    ASSERT_GT(index.record(id).line, index.record(id - 1).line);
  }
}

TEST_F(IndexThreads, EveryNumberOfThemWritesTheSameIndexOfText) {
  options_.skip_bad_lines = true;
  std::string text;
  for (int i = 0; text.size() < 3 * kMiB; ++i) {
    text += "Line " + std::to_string(i) + (i % 7 == 0 ? "\n\n" : "\r\n") + (i % 997 == 0 ? "\xFF" : "\xC3\xA4");
  }
  const std::filesystem::path data = write("a.txt", text);
  for (const TextFormat format : {TextFormat::kDocuments, TextFormat::kStream}) {
    options_.format = format;
    const std::vector<std::string> found = digests(data);
    EXPECT_EQ(found, as_often(found.front()));
    EXPECT_GT(SampleIndex(index_).report().bad_lines, 50);
  }
}

TEST_F(IndexThreads, TheFirstBadLineOfTheFileIsTheOneThatIsTold) {
  std::string lines;
  for (int i = 1; lines.size() < 4 * kMiB; ++i) {
    lines += i == 9000 || i == 9001 || i == 50000 ? "{\"text\":" + std::to_string(i) + "}\n" : prompt_line(40, 3);
  }
  const std::filesystem::path data = write("a.jsonl", lines);
  for (const std::size_t threads : kThreads) {
    const std::string told = refusal([&] { build_sample_index(data, index_, options_, threads); });
    EXPECT_TRUE(contains(told, ":9000: \"text\" is a number")) << told;
  }
}

TEST_F(IndexThreads, WhereNoneCanBeStartedTheIndexIsTheSame) {
  const std::filesystem::path data = write("a.jsonl", prompt_line(40, 3) + lines_of_every_kind());
  options_.skip_bad_lines = true;
  build_sample_index(data, index_, options_, 1).file->commit();
  const std::string digest = sha256_file_hex(index_, "data");
  std::filesystem::remove(index_);
  const pid_t child = fork();
  if (child == 0) {
    const bool none = can_start_no_thread_any_more();
    if (none) build_sample_index(data, index_, options_, 4).file->commit();
    _exit(none ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(sha256_file_hex(index_, "data"), digest);
}

}  // namespace
}  // namespace samegrad
