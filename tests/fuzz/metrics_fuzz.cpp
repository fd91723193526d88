// metrics.jsonl, read as plot, bisect and a resumed training read it.
#include "samegrad/report/metrics.h"
#include "samegrad/report/run_history.h"
#include "samegrad/report/run_record.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::filesystem::path file = kFolder.write("metrics.jsonl", fuzz::text_of(data, size));
  fuzz::may_refuse({ExitCode::kBadInput}, [&] {
    const RunHistory history = run_history([&](const std::function<void(const Json&)>& take) {
      for_each_metrics_line(file, [&](const Json& line, std::int64_t) { take(line); });
    });
    fuzz::require(!loss_figure(history.loss).empty(), "a figure is drawn");
    fuzz::require(!tokens_figure(history.windows).empty(), "a figure is drawn");
    fuzz::require(!rank_time_figure(history.ranks).empty(), "a figure is drawn");
  });
  for (const char* kind : {"", "resumed"}) {
    fuzz::may_refuse({ExitCode::kBadInput}, [&] {
      const RecordedRun run = read_run_record(file, kind);
      fuzz::require(compare_records(run, run).differing_update == 0, "a run is the same as itself");
      fuzz::accepted();
    });
  }
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { MetricsLog(file, "a", "resumed", 3).append({{"update", 4}}); });
  return 0;
}
