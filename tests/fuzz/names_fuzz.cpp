// Names of folders beside checkpoints: what is understood is exactly what is written.
#include "samegrad/base/temporary_name.h"
#include "samegrad/checkpoint/step_name.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name = fuzz::text_of(data, size);
  if (const std::optional<std::int64_t> update = parse_step_folder_name(name)) {
    fuzz::require(*update >= 0 && step_folder_name(*update) == name, "a step's name has one spelling");
    fuzz::accepted();
  }
  if (const std::optional<AsideName> aside = parse_aside_name(name)) {
    fuzz::require(aside->text() == name, "a hidden name has one spelling");
    fuzz::accepted();
  }
  if (const std::optional<TemporaryName> temporary = parse_temporary_name(name)) {
    fuzz::require(temporary->text() == name, "a temporary name has one spelling");
    fuzz::accepted();
  }
  return 0;
}
