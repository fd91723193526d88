// A rank's status record: what is written is read, also from a writer that was killed or is busy; anything else that
// lies in its place is refused with a reason.
#include "samegrad/comm/status_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "samegrad/base/temporary_name.h"
#include "samegrad/comm/process_watch.h"
#include "samegrad/comm/status_image.h"
#include "samegrad/comm/status_writer.h"

namespace samegrad {
namespace {

using ::testing::HasSubstr;

CallRecord gradient_call() {
  CallLabel label{"gradient", 7, std::chrono::minutes(10)};
  label.dtype = CallDtype::kFloat64;
  return record_call(CallOperation::kAllToAll, 0, 4'096, label);
}

class StatusFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("status_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  StatusReading read(int rank = 1) const { return read_status_file(status_path(folder_, rank), rank); }
  std::filesystem::path path() const { return status_path(folder_, 1); }
  /// The record's bytes with one changed member.
  template <typename Change>
  std::string reason_after(Change change) {
    StatusBytes bytes;
    bytes.identity.image_bytes = sizeof(StatusBytes);
    bytes.identity.rank = 1;
    bytes.identity.world_size = 2;
    bytes.identity.pid = 5;
    for (StatusMoment& moment : bytes.moments) moment.state = 1;
    change(bytes);
    std::filesystem::create_directories(folder_);
    std::ofstream(path(), std::ios::binary).write(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    const StatusReading reading = read();
    EXPECT_NE(reading.status.has_value(), !reading.reason.empty());
    EXPECT_FALSE(reading.missing);
    return reading.reason;
  }

  std::filesystem::path folder_;
};

TEST_F(StatusFolder, ARecordSaysWhoItIsAndWhatItDoes) {
  StatusWriter writer(1, 3);
  ASSERT_TRUE(writer.place_in_folder(folder_ / "deep"));
  const auto now = [&] { return read_status_file(status_path(folder_ / "deep", 1), 1).status.value(); };
  RankStatus status = now();
  EXPECT_EQ(status.rank, 1);
  EXPECT_EQ(status.world_size, 3);
  EXPECT_EQ(status.pid, getpid());
  EXPECT_EQ(status.start_time, process_start_time(getpid()));
  EXPECT_EQ(status.pid_space, pid_space_of_this_process());
  EXPECT_EQ(status.phase, "start");
  EXPECT_EQ(status.state, RankState::kRunning);
  EXPECT_EQ(status.call.operation, CallOperation::kNone);

  writer.set_phase("exchange", 7);
  writer.enter(gradient_call());
  status = now();
  EXPECT_EQ(status.phase, "exchange");
  EXPECT_EQ(status.update, 7);
  EXPECT_EQ(status.state, RankState::kWaiting);
  EXPECT_EQ(status.collectives, 1);
  EXPECT_TRUE(same_call(status.call, gradient_call()));
  EXPECT_EQ(status.call.update, 7);
  EXPECT_GE(status.entered_monotonic_ns, status.started_monotonic_ns);
  EXPECT_GE(status.progress_realtime_ns, status.started_realtime_ns);

  writer.leave();
  EXPECT_EQ(now().state, RankState::kRunning);
  writer.end(RankState::kFailed);
  writer.end(RankState::kDone);
  writer.set_phase("later", 8);
  EXPECT_EQ(now().state, RankState::kFailed);
  EXPECT_EQ(now().phase, "exchange");
}

TEST_F(StatusFolder, WhatKilledWritersOfARankLeftGoesAndWhatAnotherRankMakesStays) {
  NameOwner dead = this_process();
  dead.process = std::numeric_limits<pid_t>::max();  // more than any process has
  std::filesystem::create_directories(folder_);
  for (const char* target : {"rank-1", "rank-2"}) {
    std::ofstream(folder_ / TemporaryName{.target = target, .owner = dead}.text()) << "half";
  }
  StatusWriter writer(1, 3);
  ASSERT_TRUE(writer.place_in_folder(folder_));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("rank-1", ".rank-2.tmp-" + dead.text()));
}

TEST_F(StatusFolder, TextsAreCutAndMadePrintable) {
  StatusWriter writer(1, 2);
  ASSERT_TRUE(writer.place_in_folder(folder_));
  writer.set_phase("bell\a " + std::string(100, 'x'), 1);
  EXPECT_EQ(read().status.value().phase, "bell? " + std::string(17, 'x'));
}

TEST_F(StatusFolder, AReaderNeverSeesAMixtureOfTwoMoments) {
  StatusImage image{};
  StatusWriter writer(1, 2);
  ASSERT_TRUE(writer.place_in_folder(folder_));
  writer.place_in_memory(image);
  std::atomic<bool> enough{false};
  std::thread busy([&] {
    for (std::int64_t update = 1; !enough; ++update) writer.set_phase(update % 2 == 0 ? "even" : "odd", update);
  });
  int read_well = 0;
  for (int look = 0; look < 3'000; ++look) {
    for (const StatusReading& reading : {read(), read_status_image(image, 1)}) {
      if (!reading.status || reading.status->update == 0) continue;
      ++read_well;
      ASSERT_EQ(reading.status->phase, reading.status->update % 2 == 0 ? "even" : "odd");
    }
  }
  enough = true;
  busy.join();
  EXPECT_GT(read_well, 100);
}

TEST_F(StatusFolder, ARecordWhoseWriterDiedInTheMiddleOfAWriteIsWhole) {
  EXPECT_EQ(reason_after([](StatusBytes& bytes) {
              bytes.current = 4;
              bytes.moments[1].state = 77;  // being written
            }),
            "");
}

TEST_F(StatusFolder, ALaterRecordReplacesAnEarlierOneWithoutTouchingIt) {
  StatusWriter first(1, 2);
  ASSERT_TRUE(first.place_in_folder(folder_));
  StatusWriter second(1, 2);
  ASSERT_TRUE(second.place_in_folder(folder_));
  second.set_phase("second", 2);
  first.set_phase("first", 1);
  EXPECT_EQ(read().status.value().phase, "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(StatusFolder, AFolderThatCannotBeMadeLeavesTheWriterWithoutAPlace) {
  std::ofstream(folder_) << "a file";
  StatusWriter writer(1, 2);
  EXPECT_FALSE(writer.place_in_folder(folder_));
  writer.set_phase("goes on", 1);
}

TEST_F(StatusFolder, OnlyRanksAreReadAndInTheirOrder) {
  for (const int rank : {10, 2, 0}) {
    StatusWriter writer(rank, 11);
    ASSERT_TRUE(writer.place_in_folder(folder_));
  }
  for (const char* name : {"rank-01", "rank-", "rank--1", "rank-256", "rank-3x", "rank-99999999999", "other"}) {
    std::ofstream(folder_ / name) << "nothing";
  }
  std::vector<int> ranks;
  for (const StatusReading& reading : read_status_folder(folder_)) ranks.push_back(reading.rank);
  EXPECT_THAT(ranks, ::testing::ElementsAre(0, 2, 10));
  EXPECT_TRUE(read_status_folder(folder_ / "missing").empty());
}

TEST_F(StatusFolder, WhatIsNoRegularFileOfTheRightSizeIsRefusedWithoutWaiting) {
  EXPECT_TRUE(read().missing);
  std::filesystem::create_directories(folder_);
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(read().reason, HasSubstr("not a regular file"));
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/dev/zero", path());
  EXPECT_THAT(read().reason, HasSubstr("symbolic link"));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_THAT(read().reason, HasSubstr("not a regular file"));
  std::filesystem::remove(path());
  for (const std::uintmax_t bytes : {std::uintmax_t{0}, std::uintmax_t{sizeof(StatusBytes) - 1},
                                     std::uintmax_t{sizeof(StatusBytes) + 1}, std::uintmax_t{1} << 40U}) {
    std::ofstream(path()).flush();
    std::filesystem::resize_file(path(), bytes);
    EXPECT_THAT(read().reason, HasSubstr("a status record has")) << bytes;
  }
}

TEST_F(StatusFolder, EveryImpossibleValueIsRefused) {
  EXPECT_EQ(reason_after([](StatusBytes&) {}), "");
  using Change = void (*)(StatusBytes&);
  const std::vector<Change> changes{
      [](StatusBytes& b) { b.identity.magic ^= 1; },
      [](StatusBytes& b) { ++b.identity.version; },
      [](StatusBytes& b) { --b.identity.image_bytes; },
      [](StatusBytes& b) { b.identity.rank = 0; },
      [](StatusBytes& b) { b.identity.rank = b.identity.world_size = 1; },
      [](StatusBytes& b) { b.identity.world_size = 1 << 30; },
      [](StatusBytes& b) { b.identity.pid = 0; },
      [](StatusBytes& b) { b.identity.pid = -1; },
      [](StatusBytes& b) { b.identity.started_monotonic_ns = -1; },
      [](StatusBytes& b) { b.identity.host.fill('h'); },
      [](StatusBytes& b) { b.identity.host[0] = '\x1b'; },
      [](StatusBytes& b) { b.identity.host[5] = 'h'; },
      [](StatusBytes& b) { b.moments[0].state = 0; },
      [](StatusBytes& b) { b.moments[0].state = 5; },
      [](StatusBytes& b) { b.moments[0].operation = static_cast<std::uint32_t>(kLastCallOperation) + 1; },
      [](StatusBytes& b) { b.moments[0].dtype = 3; },
      [](StatusBytes& b) { b.moments[0].root = 2; },
      [](StatusBytes& b) { b.moments[0].root = -1; },
      [](StatusBytes& b) { b.moments[0].update = -1; },
      [](StatusBytes& b) { b.moments[0].collectives = INT64_MIN; },
      [](StatusBytes& b) { b.moments[0].progress_monotonic_ns = -1; },
      [](StatusBytes& b) { b.moments[0].phase[0] = '\n'; },
      [](StatusBytes& b) { b.moments[0].name.fill('n'); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_NE(reason_after(changes[i]), "") << "change " << i;
}

TEST_F(StatusFolder, AnyBytesAreRefusedOrReadAsValuesInTheirRange) {
  std::mt19937 random(5);
  int taken = 0;
  for (int round = 0; round < 3'000; ++round) {
    const std::string reason = reason_after([&](StatusBytes& bytes) {
      auto* const raw = reinterpret_cast<unsigned char*>(&bytes);
      for (unsigned changes = random() % 4; changes > 0; --changes) {
        raw[random() % sizeof(bytes)] = static_cast<unsigned char>(random());
      }
    });
    if (!reason.empty()) continue;
    ++taken;
    const RankStatus status = read().status.value();
    EXPECT_TRUE(status.rank == 1 && status.world_size >= 2 && status.world_size <= 256 && status.pid > 0);
    EXPECT_TRUE(status.update >= 0 && status.collectives >= 0 && status.call.root < status.world_size);
    EXPECT_EQ(status.call.name.back(), '\0');
    for (const std::string& text : {status.phase, status.host, std::string(status.call.name.data())}) {
      EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
    }
  }
  EXPECT_GT(taken, 300);
  EXPECT_LT(taken, 2'700);
}

}  // namespace
}  // namespace samegrad
