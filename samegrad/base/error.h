// The error families of samegrad. Every failure that a person can meet is one of these; `what()` is the whole line that
// is shown: "[stage] what is wrong: the value given, what is allowed, what to do".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace samegrad {

/// Process exit codes (docs/formats.md). Signals end as 128 + signal and have no name here.
enum class ExitCode : int {
  kDone = 0,
  kRunFailed = 1,    ///< the run failed: a peer died, a window could not be trained, I/O
  kBadInput = 2,     ///< usage, configuration or data
  kCheckFailed = 3,  ///< a check did not hold, or a checkpoint is damaged
};

/// Base of all errors that samegrad throws on purpose.
class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, std::string_view stage, std::string_view message);

  /// The exit code with which a program that cannot go on ends.
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// The user's input is wrong: usage, configuration, data (exit code 2).
class InputError : public Error {
 public:
  InputError(std::string_view stage, std::string_view message) : Error(ExitCode::kBadInput, stage, message) {}
};

/// The run cannot go on (exit code 1).
class RunError : public Error {
 public:
  RunError(std::string_view stage, std::string_view message) : Error(ExitCode::kRunFailed, stage, message) {}
};

/// A check did not hold, or a file that must be whole is damaged (exit code 3).
class CheckError : public Error {
 public:
  CheckError(std::string_view stage, std::string_view message) : Error(ExitCode::kCheckFailed, stage, message) {}
};

/// Another rank died, stopped or did not arrive in time (exit code 1). A consequence: the culprit is that rank.
class PeerError : public RunError {
 public:
  PeerError(std::string_view stage, std::string_view message, int culprit_rank)
      : RunError(stage, message), culprit_rank_(culprit_rank) {}

  int culprit_rank() const { return culprit_rank_; }

 private:
  int culprit_rank_;
};

}  // namespace samegrad
