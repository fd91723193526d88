// The line with which a worker tells its launcher why it failed.
#include "samegrad/launch/failure_report.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<FailureReport> report = failure_report_from_line(fuzz::text_of(data, size));
  if (report) {
    fuzz::accepted();
    const std::optional<FailureReport> again = failure_report_from_line(failure_report_to_line(*report));
    fuzz::require(again && again->rank == report->rank && again->exit_code == report->exit_code,
                  "a report is read back the same");
  }
  return 0;
}
