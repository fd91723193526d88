// A file is read through again unless nobody can have touched it.
#include "samegrad/data/known_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "samegrad/data/prepare_data.h"
#include "tests/unit/data/data_fixture.h"
#include "tests/unit/data/memory_file.h"

namespace samegrad {
namespace {

using Paths = std::vector<std::filesystem::path>;

const std::string kContent(64, 'a');

class KnownFile : public DataFixture {
 protected:
  KnownFile() {
    config_.data.task = "text";
    config_.data.train = write("train.jsonl", "{\"text\":\"one\"}\n").string();
    config_.model.kind = "decoder";
    config_.model.vocabulary = 256;
  }

  /// The files that a start reads through, in order.
  Paths read_by_start(bool trust) {
    Paths read;
    prepare_data(config_, paths_,
                 {.trust_untouched_files = trust, .reading = [&](const auto& file, std::int64_t bytes) {
                    EXPECT_EQ(bytes, static_cast<std::int64_t>(std::filesystem::file_size(file)));
                    read.push_back(file);
                  }});
    return read;
  }

  /// As if the file had lain there for long when its index was checked.
  void remember() {
    remember_file(paths_.known_text("train"), DataFile(config_.data.train).facts(),
                  open_data(config_, paths_).lock.splits.front().second.sha256);
  }

  RunConfig config_;
  const RunPaths paths_{folder_ / "run"};
};

TEST_F(KnownFile, FactsAreSettledTwoSecondsAfterTheLastChange) {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const FileFacts facts{.written_ns = 5 * kSecond_ns, .changed_ns = 10 * kSecond_ns};
  EXPECT_FALSE(facts_are_settled(facts, 10 * kSecond_ns));
  EXPECT_FALSE(facts_are_settled(facts, 12 * kSecond_ns));
  EXPECT_TRUE(facts_are_settled(facts, 12 * kSecond_ns + 1));
  const FileFacts written_in_the_future{.written_ns = 20 * kSecond_ns, .changed_ns = 10 * kSecond_ns};
  EXPECT_FALSE(facts_are_settled(written_in_the_future, 15 * kSecond_ns));
}

TEST_F(KnownFile, IsAnotherOneWithAnyOtherFactOrContent) {
  const std::filesystem::path record = folder_ / "record.json";
  const FileFacts facts{.device = 1, .inode = 2, .bytes = 3, .written_ns = 4, .changed_ns = 5};
  EXPECT_FALSE(is_remembered(record, facts, kContent)) << "there is no record";
  remember_file(record, facts, kContent);
  EXPECT_TRUE(is_remembered(record, facts, kContent));
  EXPECT_FALSE(is_remembered(record, facts, std::string(64, 'b')));
  for (std::int64_t FileFacts::*const fact :
       {&FileFacts::device, &FileFacts::inode, &FileFacts::bytes, &FileFacts::written_ns, &FileFacts::changed_ns}) {
    FileFacts other = facts;
    other.*fact += 1;
    EXPECT_FALSE(is_remembered(record, other, kContent));
  }
  const std::string text = read(record);
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), std::string("[]"), "\xFF" + text}) {
    write("record.json", damaged);
    EXPECT_FALSE(is_remembered(record, facts, kContent)) << damaged;
  }
  std::filesystem::remove(record);
  std::filesystem::create_directory(record);
  EXPECT_FALSE(is_remembered(record, facts, kContent)) << "a folder";
  remember_file(record, facts, kContent);  // cannot be written: nothing is remembered
  EXPECT_FALSE(is_remembered(record, facts, kContent));
}

TEST_F(KnownFile, IsNotReadAgainByAStartThatTrustsIt) {
  EXPECT_EQ(read_by_start(true), Paths{config_.data.train}) << "to be indexed";
  remember();
  EXPECT_EQ(read_by_start(true), Paths{});
  EXPECT_EQ(read_by_start(false), Paths{config_.data.train}) << "prepare reads it in any case";
}

TEST_F(KnownFile, IsReadAgainOnceItWasTouched) {
  read_by_start(true);
  remember();
  const std::string before = read(paths_.text_index("train"));
  std::filesystem::rename(write("two.jsonl", "{\"text\":\"two\"}\n"), config_.data.train);  // as many bytes and tokens
  EXPECT_NE(read_by_start(true), Paths{});
  EXPECT_NE(read(paths_.text_index("train")), before);

  remember();
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, config_.data.train.c_str(), times, 0), 0);
  EXPECT_EQ(read_by_start(true), Paths{config_.data.train}) << "its time was set back";

  remember();
  std::filesystem::copy_file(config_.data.train, folder_ / "copy.jsonl");
  std::filesystem::rename(folder_ / "copy.jsonl", config_.data.train);
  EXPECT_EQ(read_by_start(true), Paths{config_.data.train}) << "another file with the same content";
}

TEST_F(KnownFile, AYoungFileIsNotRemembered) {
  read_by_start(true);
  EXPECT_FALSE(std::filesystem::exists(paths_.known_text("train")));
  EXPECT_EQ(read_by_start(true), Paths{config_.data.train});
}

TEST_F(KnownFile, AWriteThroughAMappingShowsOnceTheFileWasFlushed) {
  const std::filesystem::path path = write("mapped.jsonl", "{\"text\":\"one\"}\n");
  const DataFile file(path);
  if (!file.later_writes_show()) GTEST_SKIP() << "this file system is one of those whose files are not remembered";
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  void* const mapped = mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  volatile char* const text = static_cast<char*>(mapped);
  text[9] = 'O';
  const FileFacts dirty = file.facts();
  // Several times, because the file system's clock may stand between two of them.
  bool was_seen = false;
  for (int i = 0; i < 10'000 && !was_seen; ++i) {
    ASSERT_TRUE(file.later_writes_show());
    text[9] = static_cast<char>('a' + i % 26);
    was_seen = file.facts() != dirty;
  }
  EXPECT_TRUE(was_seen);
  munmap(mapped, 16);
  close(descriptor);
}

TEST_F(KnownFile, AFileInMemoryIsNotRemembered) {
  MemoryFile memory;
  memory.append("{\"text\":\"one\"}\n");
  EXPECT_FALSE(DataFile(memory.path()).later_writes_show()) << "a write through a mapping leaves no time there";
}

TEST_F(KnownFile, AFileThatLayThereForLongIsReadOnce) {
  if (!DataFile(__FILE__).later_writes_show()) GTEST_SKIP() << "the sources lie on a file system in memory";
  std::filesystem::create_symlink(__FILE__, folder_ / "old.txt");
  config_.data.train = (folder_ / "old.txt").string();
  ASSERT_EQ(read_by_start(true), Paths{config_.data.train});
  EXPECT_TRUE(std::filesystem::exists(paths_.known_text("train")));
  EXPECT_EQ(read_by_start(true), Paths{});

  std::filesystem::remove(paths_.known_text("train"));
  EXPECT_EQ(read_by_start(false), Paths{config_.data.train}) << "the index was there, its record was not";
  EXPECT_EQ(read_by_start(true), Paths{});
}

TEST_F(KnownFile, AnotherIndexIsMadeWhereTheFileIsKnownButTheOptionsAreOthers) {
  read_by_start(true);
  remember();
  config_.model.positions = 2;
  EXPECT_EQ(read_by_start(true), Paths{config_.data.train});
}

}  // namespace
}  // namespace samegrad
