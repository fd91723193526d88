// throw_failure_line() and agree_no_failure() of comm/agreement.h.
#include <algorithm>
#include <cstring>

#include "samegrad/base/error.h"
#include "samegrad/base/failing_rank.h"
#include "samegrad/comm/agreement.h"

namespace samegrad {
namespace {

/// Fixed length on the wire; a longer line is cut, on the failing rank too, so that all report the same.
struct FailureRecord {
  std::int32_t failed = 0;
  std::int32_t exit_code = 0;
  std::array<char, 4088> line{};  ///< NUL-terminated
};

/// "[stage] message" in its two parts; a line without stage belongs to "run".
std::pair<std::string, std::string> split_line(const std::string& line) {
  const std::size_t end = line.find("] ");
  if (line.starts_with('[') && end != std::string::npos) {
    return {line.substr(1, end - 1), line.substr(end + 2)};
  }
  return {"run", line};
}

[[noreturn]] void throw_line_of_rank(const std::string& line, int exit_code, int rank) {
  const auto [stage, message] = split_line(line);
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::kBadInput:
      throw ErrorOfRank<InputError>(stage, message, rank);
    case ExitCode::kCheckFailed:
      throw ErrorOfRank<CheckError>(stage, message, rank);
    default:
      throw ErrorOfRank<RunError>(stage, message, rank);
  }
}

}  // namespace

void throw_failure_line(const std::string& line, int exit_code, int failing_rank) {
  if (failing_rank >= 0) throw_line_of_rank(line, exit_code, failing_rank);
  const auto [stage, message] = split_line(line);
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::kBadInput:
      throw InputError(stage, message);
    case ExitCode::kCheckFailed:
      throw CheckError(stage, message);
    default:
      throw RunError(stage, message);
  }
}

void agree_no_failure(Communicator& comm, const std::string& my_failure, int my_exit_code, const CallLabel& label) {
  FailureRecord mine;
  mine.failed = my_failure.empty() ? 0 : 1;
  mine.exit_code = my_exit_code;
  std::copy_n(my_failure.begin(), std::min(my_failure.size(), mine.line.size() - 1), mine.line.begin());
  std::vector<FailureRecord> records(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(records)), label);
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank].failed != 0) {
      throw_line_of_rank(records[rank].line.data(), records[rank].exit_code, static_cast<int>(rank));
    }
  }
}

}  // namespace samegrad
