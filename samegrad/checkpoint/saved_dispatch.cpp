#include "samegrad/checkpoint/saved_dispatch.h"

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad {
namespace {

std::string unknown_text(const Checkpoint& checkpoint, const DispatchComparison& comparison) {
  std::string names;
  for (const std::string& name : comparison.unknown) names += (names.empty() ? "" : ", ") + name;
  const bool nothing = comparison.unknown.size() == kDispatchFacts.size();
  return "[resume] " + checkpoint.path.string() + " does not record " +
         (nothing ? "the dispatch that it was made under" : names) +
         ": whether the bits go on as they would have there is unknown";
}

}  // namespace

Json saved_dispatch(const Manifest& manifest) {
  if (!manifest.facts.is_object() || !manifest.facts.contains("dispatch")) return nullptr;
  const Json& recorded = manifest.facts["dispatch"];
  const bool has_facts = recorded.is_object() && recorded.contains(std::string(kDispatchFacts.front().name));
  return has_facts ? recorded : Json(nullptr);
}

std::string differences_text(const DispatchComparison& comparison) {
  std::string text;
  for (const DispatchDifference& each : comparison.differing) {
    text += (text.empty() ? "" : "; ") + each.name + " was " + printable(each.recorded) + ", here " + each.here;
  }
  return text;
}

std::string check_saved_dispatch(const Checkpoint& checkpoint, const Dispatch& here, bool allow_other) {
  const DispatchComparison comparison = compare_dispatch(saved_dispatch(checkpoint.manifest), here);
  if (!comparison.differing.empty()) {
    const std::string differ =
        checkpoint.path.string() + " was made under another dispatch: " + differences_text(comparison);
    if (!allow_other) {
      throw InputError("resume", differ +
                                     "; bits may differ from here on: resume where and as it was made (run.isa, "
                                     "processor, libraries), or accept that with --allow-other-dispatch");
    }
    return "[resume] " + differ + "; bits may differ from update " + std::to_string(checkpoint.update + 1) + " on";
  }
  return comparison.unknown.empty() ? "" : unknown_text(checkpoint, comparison);
}

}  // namespace samegrad
