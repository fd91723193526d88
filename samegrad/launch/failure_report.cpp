#include "samegrad/launch/failure_report.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "samegrad/base/error.h"
#include "samegrad/base/failing_rank.h"
#include "samegrad/base/json.h"
#include "samegrad/base/log.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/launch/error_file.h"
#include "samegrad/launch/pipe.h"

namespace samegrad {
namespace {

/// Even with every byte escaped, a report fits into a pipe that nobody reads yet (64 KiB).
constexpr std::size_t kLongestMessage = 8'192;

std::optional<int> report_descriptor() {
  const char* const text = std::getenv(kReportVariable);
  if (text == nullptr) {
    return std::nullopt;
  }
  int fd = -1;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, fd);
  return error == std::errc{} && end == last && fd >= 0 ? std::optional(fd) : std::nullopt;
}

int small_number(const Json& value) {
  return static_cast<int>(whole_number(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

}  // namespace

FailureReport failure_report_of(const std::exception& error, int rank) {
  FailureReport report;
  report.rank = rank;
  report.message = error.what();
  if (const auto* const known = dynamic_cast<const Error*>(&error)) {
    report.exit_code = static_cast<int>(known->exit_code());
  }
  if (const auto* const peer = dynamic_cast<const PeerError*>(&error)) {
    report.culprit_rank = peer->culprit_rank();
  }
  if (const auto* const agreed = dynamic_cast<const FailingRank*>(&error);
      agreed != nullptr && agreed->failing_rank() != rank) {
    report.culprit_rank = agreed->failing_rank();
  }
  return report;
}

std::string failure_report_to_line(const FailureReport& report) {
  const Json json{{"rank", report.rank},
                  {"exit_code", report.exit_code},
                  {"message", report.message.substr(0, kLongestMessage)},
                  {"culprit_rank", report.culprit_rank},
                  {"done", report.done}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<FailureReport> failure_report_from_line(std::string_view text) {
  try {
    const Json json = parse_untrusted_json(text);
    return FailureReport{small_number(json.at("rank")), small_number(json.at("exit_code")),
                         json.at("message").get<std::string>(), small_number(json.at("culprit_rank")),
                         json.at("done").get<bool>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void write_failure_report(const FailureReport& report) {
  const std::optional<int> fd = report_descriptor();
  if (fd && write_whole(*fd, failure_report_to_line(report))) {
    return;
  }
  log_error(report.message);
  if (!write_error_file(report.message, report.culprit_rank != -1)) {
    log_warn(std::string(kErrorFileVariable) + ": the launcher's file cannot be written");
  }
}

}  // namespace samegrad
