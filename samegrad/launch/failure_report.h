// How a worker that fails tells its launcher why: one line of JSON on an inherited pipe.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace samegrad {

/// Number of the inherited descriptor on which a worker writes its report.
inline constexpr const char* kReportVariable = "SAMEGRAD_REPORT_FD";

/// In FailureReport::culprit_rank: one that has not joined, the launcher knows which.
inline constexpr int kCulpritNotJoined = -2;

struct FailureReport {
  int rank = 0;
  int exit_code = 1;
  std::string message;    ///< the whole line, "[stage] ..."
  int culprit_rank = -1;  ///< the rank whose failure this one is a consequence of, or kCulpritNotJoined; -1: it is none
  bool done = false;      ///< its work was done before, and only what it printed did not arrive

  bool operator==(const FailureReport&) const = default;
};

/// The report of `error` on `rank`: exit code and culprit as the error families of base/error.h have them, or the rank
/// that failed of an error that all throw (base/failing_rank.h); 1 for any other exception. Local.
FailureReport failure_report_of(const std::exception& error, int rank);

/// Gives `report` to the launcher; where none asked for it (SAMEGRAD_REPORT_FD is unset), or it cannot be reached, logs
/// the message and leaves it in the file that torchrun reads (error_file.h). A message above 8 KiB is cut. Never
/// throws. Local.
void write_failure_report(const FailureReport& report);

/// One line of JSON: {"rank","exit_code","message","culprit_rank","done"}. Bytes that are no UTF-8 are replaced. Local.
std::string failure_report_to_line(const FailureReport& report);

/// The report in `text`; nothing where it holds none. Local.
std::optional<FailureReport> failure_report_from_line(std::string_view text);

}  // namespace samegrad
