// Which of several workers that ended badly was the first cause.
#pragma once

#include <optional>
#include <span>

#include "samegrad/launch/worker_outcome.h"

namespace samegrad {

enum class CulpritKind {
  kFailed,  ///< it failed by itself
  kSilent,  ///< others waited for it in vain; it lived until the launcher ended it
  kLeft,    ///< it ended in good order, although others still needed it
};

struct Culprit {
  const WorkerOutcome* outcome = nullptr;
  CulpritKind kind = CulpritKind::kFailed;
  const WorkerOutcome* accuser = nullptr;  ///< the first that failed because of it; kSilent and kLeft have one, or
                                           ///< the launcher itself had to end the others
};

/// `outcomes` in the order in which the workers ended, each rank once; the pointers lead into it.
///
/// Each report is followed from culprit to culprit to a rank that blames nobody. The culprit is the one to which most
/// reports lead; among equals the one that ended first. A rank that ended because somebody asked it to
/// (`passed_signal` is not 0) is none, nor are those that missed it. Nothing where nobody failed by itself. Local.
std::optional<Culprit> find_culprit(std::span<const WorkerOutcome> outcomes, int passed_signal);

}  // namespace samegrad
