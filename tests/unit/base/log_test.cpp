#include "samegrad/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace samegrad {
namespace {

/// Whether this machine has pseudo-terminals: a bare chroot does not.
bool has_terminals() {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return false;
  const bool usable = ptsname(terminal) != nullptr && access(ptsname(terminal), R_OK | W_OK) == 0;
  close(terminal);
  return usable;
}

/// Standard error goes to a terminal (a pseudo-terminal) or a pipe while this lives.
class StderrCapture {
 public:
  explicit StderrCapture(bool terminal) : saved_(dup(STDERR_FILENO)) {
    int write_end = -1;
    if (terminal) {
      read_end_ = posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(grantpt(read_end_), 0);
      EXPECT_EQ(unlockpt(read_end_), 0);
      write_end = open(ptsname(read_end_), O_RDWR | O_NOCTTY);
    } else {
      std::array<int, 2> ends{};
      EXPECT_EQ(pipe(ends.data()), 0);
      read_end_ = ends[0];
      write_end = ends[1];
    }
    EXPECT_GE(write_end, 0);
    dup2(write_end, STDERR_FILENO);
    close(write_end);
  }
  ~StderrCapture() {
    restore();
    close(read_end_);
  }
  /// Ends the capture; everything that was written. A terminal hands it over late and in pieces, so read to the end.
  std::string text() {
    restore();
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 1; count > 0;) {
      count = read(read_end_, buffer.data(), buffer.size());
      all.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return all;
  }

 private:
  void restore() {
    if (saved_ >= 0) {
      dup2(saved_, STDERR_FILENO);
      close(std::exchange(saved_, -1));
    }
  }

  int saved_;
  int read_end_ = -1;
};

class Log : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("NO_COLOR"); }
  void TearDown() override {
    set_log_quiet(false);
    unsetenv("NO_COLOR");
  }
};

TEST_F(Log, WritesPlainLinesIntoAPipe) {
  StderrCapture capture(/*terminal=*/false);
  log_info("news");
  log_warn("careful");
  log_error("[stage] wrong");
  EXPECT_FALSE(log_is_terminal());
  EXPECT_EQ(capture.text(), "news\nwarning: careful\n[stage] wrong\n");
}

TEST_F(Log, QuietHidesNewsAndProgressAndKeepsWarningsAndErrors) {
  StderrCapture capture(/*terminal=*/false);
  set_log_quiet(true);
  log_info("news");
  log_progress("1 of 2");
  log_warn("careful");
  log_error("wrong");
  EXPECT_EQ(capture.text(), "warning: careful\nwrong\n");
}

std::string warning_on_a_terminal() {
  StderrCapture capture(/*terminal=*/true);
  log_warn("careful");
  return capture.text();
}

TEST_F(Log, ColoursOnATerminalUnlessToldNotTo) {
  if (!has_terminals()) GTEST_SKIP() << "no pseudo-terminals here: /dev/pts is not mounted";
  const std::string coloured = "\x1b[33mwarning: careful\x1b[0m\r\n";
  EXPECT_EQ(warning_on_a_terminal(), coloured);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(warning_on_a_terminal(), "warning: careful\r\n");
  setenv("NO_COLOR", "", 1);
  EXPECT_EQ(warning_on_a_terminal(), coloured);
}

TEST_F(Log, ALineReplacesTheProgressShownBefore) {
  if (!has_terminals()) GTEST_SKIP() << "no pseudo-terminals here: /dev/pts is not mounted";
  StderrCapture capture(/*terminal=*/true);
  log_progress("1 of 2");
  log_progress("2 of 2");
  log_info("done");
  EXPECT_EQ(capture.text(), "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[Kdone\r\n");
}

}  // namespace
}  // namespace samegrad
