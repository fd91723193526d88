// Which kernels a process runs, and in what arithmetic: the facts beside plan and data that decide bits. Recorded in
// every checkpoint, compared between ranks and at a resume (docs/exactness.md, "What it rests on").
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/comm/communicator.h"

namespace samegrad {

struct DispatchFact {
  std::string_view name;
  std::string_view meaning;
};

/// All that decides bits, and nothing else: a difference in any of them may change the gradient. Host name, number of
/// cores and clock are not here, nor is the number of processes.
inline constexpr std::array<DispatchFact, 12> kDispatchFacts{{
    {"processor", "vendor, family and model by CPUID"},
    {"aten_capability", "instructions of ATen's own kernels"},
    {"samegrad_kernels", "instructions of samegrad's own kernels"},
    {"mkl_cbwr", "MKL's mode of reproducible results"},
    {"mkl_branch", "instructions of MKL's kernels"},
    {"onednn_max_isa", "most instructions that oneDNN may use"},
    {"onednn_fpmath", "precision that oneDNN may compute float32 in"},
    {"compute_threads", "threads of one operation, ATen"},
    {"mkl_threads", "threads of one operation, MKL"},
    {"floating_point", "rounding and denormals, from MXCSR"},
    {"libtorch", "version and digest of its build settings"},
    {"libc", "whose mathematical functions libtorch calls"},
}};

/// The values in effect in one process, in the order of kDispatchFacts; "none" where a library is not there.
struct Dispatch {
  std::array<std::string, kDispatchFacts.size()> values;

  /// The value of a fact of kDispatchFacts.
  const std::string& at(std::string_view name) const;
  std::string& at(std::string_view name);
  bool operator==(const Dispatch&) const = default;
};

/// {"processor": "...", ...}. Local.
Json dispatch_to_json(const Dispatch& dispatch);

/// A fact with two values.
struct DispatchDifference {
  std::string name;
  std::string recorded;
  std::string here;
};

/// What a record says beside the values here.
struct DispatchComparison {
  std::vector<DispatchDifference> differing;
  std::vector<std::string> unknown;  ///< facts that the record lacks: all of them where it was made before records

  bool equal() const { return differing.empty() && unknown.empty(); }
};

/// Compares with a record as dispatch_to_json makes it. Never throws: what is no text in `recorded` is unknown. Local.
DispatchComparison compare_dispatch(const Json& recorded, const Dispatch& here);

/// Every rank brings its own: "ranks differ in FACT: rank 0 has VALUE, rank R has VALUE" of the first difference, the
/// same text on every rank; "" where there is none. Collective.
std::string unequal_dispatch(Communicator& comm, const Dispatch& mine, std::chrono::milliseconds timeout);

/// Where unequal_dispatch() finds a difference, every rank throws it as InputError. Collective.
void refuse_unequal_dispatch(Communicator& comm, const Dispatch& mine, std::chrono::milliseconds timeout);

}  // namespace samegrad
