// What ranks tell each other at the end of a backward pass outside a Window, and the pure function that turns it into
// what all do: which parameters somebody used, or one error for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// One rank's part of a backward pass.
struct BackwardReport {
  std::vector<bool> used;   ///< by parameter: a gradient came since the last exchange
  bool joined = false;      ///< out of data; used nothing, and is asked for nothing
  bool hooked = false;      ///< has a communication hook
  std::string change;       ///< "" or what of this rank's model has changed since all ranks agreed (model_form.h)
  std::string failure;      ///< "" or the line of what went wrong on this rank
  std::int64_t passes = 0;  ///< backward passes since the exchange before
};

enum class UnusedParameters {
  kRefuse,  ///< a parameter without a gradient on a rank is an error
  kAllow,
};

struct BackwardDecision {
  std::string failure;               ///< "" or the line that every rank reports
  std::string warning;               ///< "" or what all ranks should say: they ran unequal numbers of passes
  std::vector<bool> used_somewhere;  ///< by parameter
};

/// The decision from all ranks' reports, in rank order. A rank's own failure comes first, then changes and hooks that
/// not all ranks have; under kRefuse a parameter without a gradient on some rank is a failure that names up to five
/// parameters, and a rank. `backward` is the number of the pass, for messages. Pure. Local.
BackwardDecision decide_backward(std::span<const BackwardReport> reports, std::span<const std::string> names,
                                 UnusedParameters unused, std::int64_t backward);

/// Whether all ranks have changed their models alike, or none has. Local.
bool same_changes(std::span<const BackwardReport> reports);

/// Exchanges `mine`, whose `used` travels as that of `parameters` parameters (as many on every rank): cut, or with
/// false for more. Returns every rank's, in rank order. Collective.
std::vector<BackwardReport> exchange_reports(Communicator& comm, const BackwardReport& mine, std::size_t parameters,
                                             const CallLabel& label);

}  // namespace samegrad
