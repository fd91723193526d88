// The one small collective before the first backward of each window, and the pure function that turns its result into
// what all ranks do. No decision that ranks must share is taken anywhere else.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/comm/communicator.h"
#include "samegrad/comm/term_agreement.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// What all ranks do where they have no units at all.
enum class EmptyWindowPolicy : std::uint8_t { kError, kSkip };

/// What a rank brings to a window. Fixed length on the wire.
struct AgreementRecord {
  std::int64_t update = 0;
  std::uint64_t generator_seed = 0;   ///< of the draws that user code makes in atoms
  std::array<char, 64> digest{};      ///< of plan and config (hexadecimal)
  std::array<char, 32> parameters{};  ///< XXH3 of the parameters' names, shapes and types (hexadecimal)
  std::int64_t atoms = 0;             ///< of this rank
  std::int64_t supervised_units = 0;  ///< of this rank's atoms
  TermRecords terms{};                ///< where the loss has several, instead of supervised_units
  EmptyWindowPolicy empty_window = EmptyWindowPolicy::kError;
  std::uint8_t has_data = 0;    ///< an atom of this rank has units, or weight, above 0
  std::uint8_t weighted = 0;    ///< N is the units' total weight, not their number
  std::uint8_t stop_asked = 0;  ///< a signal asked this rank to stop
  std::uint8_t save_asked = 0;  ///< and to save after the update
  std::uint8_t failed = 0;      ///< 0, or the exit code (base/error.h) of this rank's failure
  std::uint8_t has_generator_seed = 0;
  /// NUL-terminated: the failure, or else what of the model has changed since all ranks agreed on it.
  std::array<char, 1000> message{};
};

enum class WindowAction { kTrain, kSkip, kStop, kRefuse };

struct WindowDecision {
  WindowAction action = WindowAction::kTrain;
  std::int64_t global_units = 0;          ///< supervised units of all ranks: N, where they are not weighted
  std::vector<std::int64_t> term_counts;  ///< by term, of all ranks (TermRecord::count)
  std::vector<AtomRange> ranges;          ///< by rank: consecutive, as many atoms as the rank brought; not for kRefuse
  std::string message;                    ///< for kRefuse: the line that every rank reports
  bool save_asked = false;                ///< by any rank: all save when the window's update is made
  bool refused_for_zero_units = false;
  int exit_code = 0;      ///< for kRefuse
  int failing_rank = -1;  ///< for kRefuse: whose failure it is; -1: no single rank's
};

/// The decision from all ranks' records, in rank order; the same on every rank. kStop where any rank asks (before
/// anything of the window is computed); kRefuse where a rank failed (its message), records differ in what must be the
/// same (both values named), counts overflow, there are units in no atoms, a term is empty under
/// EmptyTermPolicy::kError, or N = 0 under kError; kSkip where N = 0 under kSkip or a term is empty under kSkipWindow.
/// Weighted units have N = 0 where no rank has data; a loss of terms, where none of them has units, whatever their own
/// policies. Pure. Local.
WindowDecision decide_window(std::span<const AgreementRecord> records);

/// All ranks together have nothing to train on, under EmptyWindowPolicy::kError.
class EmptyWindowError : public RunError {
 public:
  using RunError::RunError;
};

/// Throws what a decision to refuse says: EmptyWindowError for no units, else as throw_failure_line(), of the failing
/// rank where there is one. Local.
[[noreturn]] void throw_refusal(const WindowDecision& decision);

/// Exchanges `mine`; returns every rank's, in rank order. Collective.
std::vector<AgreementRecord> exchange_records(Communicator& comm, const AgreementRecord& mine,
                                              std::chrono::milliseconds timeout);

/// Throws the error whose line is `line` ("[stage] message"): InputError for kBadInput, CheckError for kCheckFailed,
/// else RunError; with the rank (base/failing_rank.h) where it is one's. Local.
[[noreturn]] void throw_failure_line(const std::string& line, int exit_code, int failing_rank = -1);

/// After something that may fail on one rank alone: every rank calls it with its own failure line ("" = none). Where
/// any rank failed, every rank throws the same RunError (or InputError where the first failing rank's code is
/// kBadInput, CheckError for kCheckFailed) with the line of the lowest failing rank. Collective.
void agree_no_failure(Communicator& comm, const std::string& my_failure, int my_exit_code, const CallLabel& label);

}  // namespace samegrad
