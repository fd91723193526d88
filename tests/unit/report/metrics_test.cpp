#include "samegrad/report/metrics.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

class Metrics : public TemporaryFolder {
 protected:
  const std::filesystem::path path_ = folder_ / "outputs" / "metrics.jsonl";

  void log_updates(const std::string& run_id, const std::string& kind, std::int64_t first, std::int64_t last) {
    MetricsLog log(path_, run_id, kind, first - 1);
    for (std::int64_t update = first; update <= last; ++update) {
      log.append({{"update", update}, {"loss", 1.0 / static_cast<double>(update)}});
    }
  }

  /// "a stopped 1" for each line.
  std::vector<std::string> lines() const {
    std::vector<std::string> texts;
    for (const Json& line : read_metrics(path_)) {
      texts.push_back(line["run_id"].get<std::string>() + " " + line["kind"].get<std::string>() + " " +
                      line["update"].dump());
    }
    return texts;
  }

  std::string refusal() const {
    try {
      read_metrics(path_);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  }

  static ino_t inode(const std::filesystem::path& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_ino;
  }
};

TEST_F(Metrics, ALineIsOneObjectThatBeginsWithRunAndKind) {
  log_updates("a", "stopped", 3, 3);
  EXPECT_EQ(content(path_), "{\"run_id\":\"a\",\"kind\":\"stopped\",\"update\":3,\"loss\":0.3333333333333333}\n");
  EXPECT_EQ(read_metrics(path_)[0]["loss"].get<double>(), 1.0 / 3.0);
}

TEST_F(Metrics, ANewRunAppendsToAUsedFileWithoutRewritingIt) {
  log_updates("a", "stopped", 1, 2);
  const ino_t before = inode(path_);
  log_updates("b", "continuous", 1, 2);
  EXPECT_EQ(lines(), (std::vector<std::string>{"a stopped 1", "a stopped 2", "b continuous 1", "b continuous 2"}));
  EXPECT_EQ(inode(path_), before);
}

TEST_F(Metrics, AResumeDropsItsOwnLinesPastItsCheckpointOfAnyKindAndNoOthers) {
  log_updates("a", "stopped", 1, 4);
  log_updates("b", "continuous", 1, 3);
  log_updates("a", "resumed", 3, 4);
  EXPECT_EQ(lines(), (std::vector<std::string>{"a stopped 1", "a stopped 2", "b continuous 1", "b continuous 2",
                                               "b continuous 3", "a resumed 3", "a resumed 4"}));
  log_updates("a", "resumed", 3, 3);
  EXPECT_EQ(lines(), (std::vector<std::string>{"a stopped 1", "a stopped 2", "b continuous 1", "b continuous 2",
                                               "b continuous 3", "a resumed 3"}));
}

TEST_F(Metrics, ARunIdInsideAnotherMemberOrARunIdThatContainsItIsNotTheRuns) {
  {
    MetricsLog log(path_, "ab", "stopped", 0);
    log.append({{"update", 9}});
    log.append({{"update", 9}, {"note", "a"}});
  }
  log_updates("a", "resumed", 1, 1);
  EXPECT_EQ(lines(), (std::vector<std::string>{"ab stopped 9", "ab stopped 9", "a resumed 1"}));
}

TEST_F(Metrics, ALineWithoutUpdateStays) {
  {
    MetricsLog log(path_, "a", "stopped", 0);
    log.append({{"summary", true}});
  }
  MetricsLog(path_, "a", "resumed", 0).append({{"update", 1}});
  EXPECT_EQ(read_metrics(path_).size(), 2U);
}

TEST_F(Metrics, ATornLastLineIsDroppedAtEveryLengthAndTheLinesBeforeStay) {
  log_updates("a", "stopped", 1, 2);
  const std::string whole = content(path_);
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t length = first + 1; length < whole.size(); ++length) {
    write(path_, whole.substr(0, length));
    const bool only_the_newline_is_missing = length + 1 == whole.size();
    EXPECT_EQ(read_metrics(path_).size(), only_the_newline_is_missing ? 2U : 1U) << length;
    testing::internal::CaptureStderr();
    log_updates("b", "stopped", 1, 1);
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_EQ(warning.find("cut short") == std::string::npos, only_the_newline_is_missing) << length;
    EXPECT_EQ(lines().back(), "b stopped 1") << length;
    EXPECT_EQ(lines().size(), only_the_newline_is_missing ? 3U : 2U) << length;
  }
}

TEST_F(Metrics, WhatAKilledProcessAppendedIsThere) {
  const pid_t child = fork();
  if (child == 0) {
    MetricsLog log(path_, "a", "stopped", 0);
    log.append({{"update", 1}});
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(lines(), std::vector<std::string>{"a stopped 1"});
}

TEST_F(Metrics, ReaderNamesFileAndLineOfWhatIsNoObject) {
  std::filesystem::create_directories(path_.parent_path());
  const std::string good = "{\"update\":1}\n";
  for (const std::string& bad : {std::string("{\"update\":"), std::string("[1]"), std::string("3"), std::string(),
                                 std::string("{}{}"), std::string("{}\0x", 4), std::string("{\"a\":\"\xFF\"}")}) {
    write(path_, std::string(good).append(bad).append("\n").append(good));
    EXPECT_NE(refusal().find(path_.string() + ":2: not a JSON object"), std::string::npos) << bad << refusal();
  }
  EXPECT_EQ((write(path_, good + good), refusal()), "");
  EXPECT_EQ((write(path_, ""), refusal()), "");
  std::filesystem::remove(path_);
  EXPECT_NE(refusal(), "");
}

TEST_F(Metrics, AResumeRefusesADamagedLineOfItsOwnAndPassesByThoseOfOthers) {
  std::filesystem::create_directories(path_.parent_path());
  const std::string text = "nonsense of someone\n{\"run_id\":\"a\",\n";
  write(path_, text);
  EXPECT_THROW(MetricsLog(path_, "a", "resumed", 0), InputError);
  EXPECT_EQ(content(path_), text);
  EXPECT_NO_THROW(MetricsLog(path_, "b", "stopped", 0));
  EXPECT_EQ(content(path_), text);
}

TEST_F(Metrics, AMovedLogGoesOnWriting) {
  MetricsLog first(path_, "a", "stopped", 0);
  first.append({{"update", 1}});
  MetricsLog second(std::move(first));
  second.append({{"update", 2}});
  EXPECT_EQ(lines(), (std::vector<std::string>{"a stopped 1", "a stopped 2"}));
}

TEST_F(Metrics, AFullDiskIsARunErrorThatNamesTheFile) {
  log_updates("a", "stopped", 1, 1);
  // A limit on the size of a file makes writes fail as a full disk does. It holds for the child only.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    MetricsLog log(path_, "a", "resumed", 1);
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      _exit(10);
    }
    try {
      log.append({{"update", 2}, {"text", std::string(100, 'x')}});
    } catch (const RunError& error) {
      _exit(std::string(error.what()).find(path_.string() + ": writing: ") != std::string::npos ? 0 : 11);
    }
    _exit(12);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(lines(), std::vector<std::string>{"a stopped 1"});
}

}  // namespace
}  // namespace samegrad
