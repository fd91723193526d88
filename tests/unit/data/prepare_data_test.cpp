#include "samegrad/data/prepare_data.h"

#include <limits>
#include <map>

#include "samegrad/base/digest.h"
#include "samegrad/base/temporary_name.h"
#include "samegrad/data/lesson_data.h"
#include "tests/unit/data/data_fixture.h"

namespace samegrad {
namespace {

class Prepare : public DataFixture {
 protected:
  Prepare() {
    lesson_.data.train_sequences = 8;
    lesson_.data.validation_sequences = 4;
    lesson_.data.test_sequences = 6;
    text_.data.task = "text";
    text_.data.train = write("train.jsonl", "{\"text\":\"one\"}\n{\"prompt\":\"a\",\"answer\":\"bc\"}\n").string();
    text_.data.validation = write("validation.txt", "first\n\nsecond\n").string();
    text_.model.kind = "decoder";
    text_.model.vocabulary = 256;
  }

  /// Every file below the run's folder with its bytes.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(paths_.run)) {
      if (entry.is_regular_file()) found[entry.path().string()] = read(entry.path());
    }
    return found;
  }

  RunConfig lesson_;
  RunConfig text_;
  const RunPaths paths_{folder_ / "run"};
};

TEST_F(Prepare, WritesTheLessonAndItsLockAndOpensIt) {
  const PreparedData prepared = prepare_data(lesson_, paths_);
  EXPECT_EQ(prepared.written.size(), 4U);
  const DataSets sets = open_data(lesson_, paths_);
  EXPECT_EQ(sets.train->size(), 8);
  EXPECT_EQ(sets.validation->size(), 4);
  EXPECT_EQ(sets.test->size(), 6);
  EXPECT_EQ(sets.lock, prepared.lock);
  EXPECT_EQ(read(paths_.lesson_split("test")),
            lesson_jsonl(generate_lesson_split(lesson_.data, lesson_.seed, LessonSplit::kTest), LessonSplit::kTest));
  EXPECT_EQ(sets.lock.splits[2].second.sha256, sha256_hex(read(paths_.lesson_split("test"))));
}

TEST_F(Prepare, IndexesTextWithItsLockAndOpensIt) {
  const PreparedData prepared = prepare_data(text_, paths_);
  EXPECT_EQ(prepared.written.size(), 3U);
  const DataSets sets = open_data(text_, paths_);
  EXPECT_EQ(sets.train->size(), 2);
  EXPECT_EQ(sets.validation->size(), 2);
  EXPECT_EQ(sets.test, nullptr);
  EXPECT_EQ(sets.lock, prepared.lock);
  EXPECT_EQ(sets.reports, prepared.reports);
  EXPECT_EQ(sets.lock.splits[0].second,
            (SplitLock{.samples = 2,
                       .tokens = 6,
                       .supervised_tokens = 6,
                       .bytes = static_cast<std::int64_t>(std::filesystem::file_size(text_.data.train)),
                       .sha256 = sha256_file_hex(text_.data.train, "test")}));
  text_.data.validation.clear();
  prepare_data(text_, paths_);
  EXPECT_EQ(open_data(text_, paths_).validation, nullptr);
}

TEST_F(Prepare, AnotherWeightIsAnotherLockAndAnIndexOfAFormerFormatIsRebuilt) {
  const PreparedData before = prepare_data(text_, paths_);
  const std::filesystem::path index = paths_.text_index("train");
  std::string former = read(index).replace(0, 8, "SGINDEX2");
  former = former.substr(0, former.size() - 32);
  write(index.lexically_relative(folder_).string(), former + sha256_hex(former));
  EXPECT_TRUE(contains(refusal([&] { open_data(text_, paths_); }), "is no index of samples in this format"));
  EXPECT_EQ(prepare_data(text_, paths_).written, std::vector<std::filesystem::path>{index});

  write("train.jsonl", "{\"text\":\"one\",\"weight\":2}\n{\"prompt\":\"a\",\"answer\":\"bc\"}\n");
  const PreparedData after = prepare_data(text_, paths_);
  EXPECT_NE(after.lock.digest(), before.lock.digest());
  EXPECT_TRUE(open_data(text_, paths_).train->weighted());
}

TEST_F(Prepare, WritesNothingTheSecondTime) {
  for (const RunConfig& config : {lesson_, text_}) {
    const PreparedData first = prepare_data(config, paths_);
    EXPECT_FALSE(first.written.empty());
    const PreparedData second = prepare_data(config, paths_);
    EXPECT_TRUE(second.written.empty());
    EXPECT_EQ(second.lock, first.lock);
    EXPECT_EQ(second.reports, first.reports);
  }
}

TEST_F(Prepare, RewritesExactlyWhatIsMissingOrDamagedOrStale) {
  using Paths = std::vector<std::filesystem::path>;
  prepare_data(text_, paths_);
  std::filesystem::remove(paths_.data_lock);
  EXPECT_EQ(prepare_data(text_, paths_).written, Paths{paths_.data_lock});

  std::ofstream(paths_.text_index("validation"), std::ios::app) << "x";
  EXPECT_EQ(prepare_data(text_, paths_).written, Paths{paths_.text_index("validation")});

  write("train.jsonl", "{\"text\":\"two\"}\n{\"prompt\":\"a\",\"answer\":\"bc\"}\n");
  EXPECT_EQ(prepare_data(text_, paths_).written, (Paths{paths_.text_index("train"), paths_.data_lock}))
      << "same size and counts";

  text_.data.txt = "stream";
  EXPECT_EQ(prepare_data(text_, paths_).written, (Paths{paths_.text_index("validation"), paths_.data_lock}));

  prepare_data(lesson_, paths_);
  std::ofstream(paths_.lesson_split("test"), std::ios::app) << "x";
  EXPECT_EQ(prepare_data(lesson_, paths_).written, Paths{paths_.lesson_split("test")});
}

TEST_F(Prepare, WhatAKilledPreparationLeftIsGoneAfterTheNext) {
  NameOwner dead = this_process();
  dead.process = std::numeric_limits<pid_t>::max();  // more than any process has
  prepare_data(text_, paths_);
  const std::map<std::string, std::string> whole = files();
  for (const auto& [file, bytes] : whole) {
    const std::filesystem::path path = file;
    std::filesystem::remove(path);
    write(
        path.lexically_relative(folder_).parent_path() / TemporaryName{.target = path.filename(), .owner = dead}.text(),
        bytes);
  }
  prepare_data(text_, paths_);
  EXPECT_EQ(files(), whole);
}

TEST_F(Prepare, LeavesEverythingAsItWasWhenAFileIsRefused) {
  prepare_data(text_, paths_);
  const auto before = files();
  write("train.jsonl", "{\"text\":\"another\"}\n");
  write("validation.txt", "first\n\nbad \xFF\n");
  EXPECT_TRUE(contains(refusal([&] { prepare_data(text_, paths_); }), "validation.txt:3: not valid UTF-8"));
  EXPECT_EQ(files(), before);
}

TEST_F(Prepare, TheLockIsTheSameForTheSameDataElsewhere) {
  const DataLock here = prepare_data(text_, paths_).lock;
  std::filesystem::rename(text_.data.train, folder_ / "moved.jsonl");
  text_.data.train = (folder_ / "moved.jsonl").string();
  const PreparedData there = prepare_data(text_, paths_);
  EXPECT_EQ(there.lock, here);
  EXPECT_EQ(there.reports.front().file, text_.data.train);
  EXPECT_TRUE(there.written.empty());
}

TEST_F(Prepare, OpeningRefusesWhatDoesNotBelongTogether) {
  EXPECT_TRUE(contains(refusal([&] { open_data(text_, paths_); }), paths_.data_lock.filename().string()));
  prepare_data(lesson_, paths_);
  EXPECT_TRUE(contains(refusal([&] { open_data(text_, paths_); }), "prepared for data.task lesson, the run has text"));

  RunConfig other = lesson_;
  other.seed = 43;
  write("run/outputs/data/train.jsonl",
        lesson_jsonl(generate_lesson_split(other.data, other.seed, LessonSplit::kTrain), LessonSplit::kTrain));
  EXPECT_TRUE(contains(refusal([&] { open_data(lesson_, paths_); }), "split train (8 samples"));

  prepare_data(text_, paths_);
  std::filesystem::remove(paths_.text_index("train"));
  EXPECT_TRUE(contains(refusal([&] { open_data(text_, paths_); }), "cannot be opened"));
}

}  // namespace
}  // namespace samegrad
