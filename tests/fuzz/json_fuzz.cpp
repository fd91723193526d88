// JSON of a checkpoint (state.json, rank-<i>.json), of plan.json and of a saved configuration: parsed, copied, compared
// and printed.
#include "samegrad/base/untrusted_json.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/strict_json.h"
#include "samegrad/config/load.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::may_refuse({ExitCode::kCheckFailed, ExitCode::kBadInput}, [&] {
    const Json value = parse_strict_json(text, "state.json");
    const Json copy = value;
    fuzz::require(copy == value && copy.dump() == value.dump(), "a value can be copied, compared and printed");
    fuzz::require(printable_json(value).size() < 300, "what is shown of it is short");
    const Json config = value.is_object() ? value.value("config", value) : value;
    // As changes of a whole one: one that lacks a member is refused before the others are looked at.
    Json changed = config_to_json(RunConfig{});
    changed.merge_patch(config);
    fuzz::may_refuse({ExitCode::kBadInput}, [&] { config_from_json(config); });
    config_from_json(changed);
    fuzz::accepted();
  });
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { read_json_file(kFolder.write("run.json", text), "run"); });
  try {
    const Json plan = parse_untrusted_json(text, "plan");
    fuzz::require(!plan.is_object() || !plan.contains("plan"), "what is left out is not there");
    whole_number(plan.is_object() ? plan.value("updates", Json()) : plan);
  } catch (const JsonRefused& refused) {
    fuzz::require(std::string_view(refused.what()).size() < 300, "the reason is short");
  }
  return 0;
}
