#include "samegrad/launch/culprit.h"

#include <algorithm>
#include <vector>

namespace samegrad {
namespace {

using Outcomes = std::span<const WorkerOutcome>;

/// The outcome that `accuser` blames; nullptr where it blames nobody that is known.
const WorkerOutcome* blamed_by(const WorkerOutcome& accuser, Outcomes outcomes) {
  if (!accuser.report || accuser.report->culprit_rank < 0 || accuser.report->culprit_rank == accuser.rank) {
    return nullptr;
  }
  const auto found = std::ranges::find(outcomes, accuser.report->culprit_rank, &WorkerOutcome::rank);
  return found == outcomes.end() ? nullptr : &*found;
}

/// Where the chain of blame that starts at `first` ends. Of ranks that blame each other in a circle, the one that ended
/// first.
const WorkerOutcome* end_of_chain(const WorkerOutcome& first, Outcomes outcomes) {
  std::vector<const WorkerOutcome*> chain{&first};
  while (const WorkerOutcome* const next = blamed_by(*chain.back(), outcomes)) {
    const auto seen = std::ranges::find(chain, next);
    if (seen != chain.end()) {
      return *std::min_element(seen, chain.end());  // pointers into one span: earlier is lower
    }
    chain.push_back(next);
  }
  return chain.back();
}

struct Suspect {
  const WorkerOutcome* outcome;
  const WorkerOutcome* accuser = nullptr;
  int accusers = 0;
};

CulpritKind kind_of(const WorkerOutcome& outcome, int passed_signal) {
  if (outcome.ended_by_launcher) {
    return CulpritKind::kSilent;
  }
  return has_failed(outcome, passed_signal) ? CulpritKind::kFailed : CulpritKind::kLeft;
}

}  // namespace

std::optional<Culprit> find_culprit(std::span<const WorkerOutcome> outcomes, int passed_signal) {
  std::vector<Suspect> suspects;
  for (const WorkerOutcome& outcome : outcomes) {
    if (!has_failed(outcome, passed_signal) || outcome.ended_by_launcher) {
      continue;
    }
    const WorkerOutcome* const end = end_of_chain(outcome, outcomes);
    if (passed_signal != 0 && end != &outcome && stopped_as_asked(*end, passed_signal)) {
      continue;
    }
    auto suspect = std::ranges::find(suspects, end, &Suspect::outcome);
    if (suspect == suspects.end()) {
      suspect = suspects.insert(suspects.end(), Suspect{end});
    }
    if (end != &outcome) {
      suspect->accuser = suspect->accuser == nullptr ? &outcome : suspect->accuser;
      ++suspect->accusers;
    }
  }
  if (suspects.empty()) {
    const auto early = std::ranges::find(outcomes, true, &WorkerOutcome::kept_others_waiting);
    return early == outcomes.end() ? std::nullopt : std::optional(Culprit{&*early, CulpritKind::kLeft});
  }
  const auto worst = std::ranges::max_element(suspects, [](const Suspect& a, const Suspect& b) {
    return a.accusers != b.accusers ? a.accusers < b.accusers : a.outcome > b.outcome;
  });
  return Culprit{worst->outcome, kind_of(*worst->outcome, passed_signal), worst->accuser};
}

}  // namespace samegrad
