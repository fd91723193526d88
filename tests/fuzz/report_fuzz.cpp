// The comparison in report.json, read as plot reads it, and drawn.
#include "samegrad/report/compare.h"
#include "samegrad/report/figures.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::filesystem::path file = kFolder.write("report.json", fuzz::text_of(data, size));
  fuzz::may_refuse({ExitCode::kBadInput}, [&] {
    const Json json = read_json_file(file, "plot");
    try {
      const Comparison comparison = comparison_from_json(json);
      fuzz::require(!gradient_error_figure(comparison, comparison, "control").empty(), "a figure is drawn");
      fuzz::accepted();
    } catch (const Json::exception&) {  // plot adds the file's name
      return;
    }
  });
  return 0;
}
