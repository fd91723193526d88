// The dispatch that a checkpoint was made under, and what a resume under another one does.
#pragma once

#include <string>

#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/comm/dispatch.h"

namespace samegrad {

/// What the manifest records (comm/dispatch.h); null where it records nothing, as those of samegrad's first version,
/// which have environment variables in its place. Local.
Json saved_dispatch(const Manifest& manifest);

/// "aten_capability was AVX512, here DEFAULT; mkl_cbwr was AUTO, here unset". Local.
std::string differences_text(const DispatchComparison& comparison);

/// Before a resume. Where a recorded value is another than here: throws InputError naming each fact and both values;
/// with `allow_other` returns a warning instead, which says that bits may differ from here on. Facts that the
/// checkpoint does not record are unknown, not refused: they give a warning too. "" where all is recorded and equal.
/// Local.
std::string check_saved_dispatch(const Checkpoint& checkpoint, const Dispatch& here, bool allow_other);

}  // namespace samegrad
