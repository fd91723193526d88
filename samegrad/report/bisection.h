// What `samegrad bisect` found out about two runs: as data, as JSON, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"
#include "samegrad/data/data_lock.h"
#include "samegrad/report/run_record.h"
#include "samegrad/report/text_style.h"
#include "samegrad/report/window_findings.h"

namespace samegrad {

/// Something that has a value in run A and one in run B.
struct ValuePair {
  std::string name;
  std::string a;
  std::string b;
};

/// The first update of a run whose recorded values this program does not get from the run's own state.
struct Unreproduced {
  std::int64_t update = 0;
  std::vector<RecordDifference> differences;  ///< a: recorded, b: computed here
};

/// One of the two runs, and how its replay went.
struct BisectedRun {
  std::string folder{};
  std::string run_id{};
  std::vector<std::string> kinds{};
  std::int64_t first_update = 0;
  std::int64_t last_update = 0;
  std::string replayed_from{};  ///< e.g. "artifacts/checkpoints/step-0004"; "" where nothing was replayed
  std::int64_t replayed_updates = 0;
  std::string not_replayed{};        ///< why the replay is missing or ends early; "" where it reached the update
  std::vector<std::string> notes{};  ///< e.g. damaged checkpoints that were passed over
  std::optional<Unreproduced> unreproduced{};
  std::string other_dispatch{};  ///< "aten_capability was AVX2, here AVX512"; "" where equal or not recorded
};

struct Bisection {
  BisectedRun a{};
  BisectedRun b{};
  RecordComparison records{};
  WindowFindings window{};            ///< of the differing update, from the two replays
  bool window_compared = false;       ///< both replays reached it
  std::vector<ValuePair> config{};    ///< leaves that decide bits, and run.isa
  std::vector<ValuePair> data{};      ///< from the data locks
  std::vector<ValuePair> dispatch{};  ///< facts that both runs recorded differently

  bool same() const { return records.differing_update == 0; }
};

/// The leaves that decide bits, and run.isa, in which two configs differ. Local.
std::vector<ValuePair> config_differences(const RunConfig& a, const RunConfig& b);

/// "train sha256" and the like. Local.
std::vector<ValuePair> data_differences(const DataLock& a, const DataLock& b);

/// What may be behind a record that is not reproduced. Local.
std::string unreproduced_reason(const BisectedRun& run);

/// Where the runs first differ, in one line: update and part, or whose record this program does not reproduce. Local.
std::string bisection_verdict(const Bisection& bisection);

/// docs/bisect.md. Local.
Json bisection_to_json(const Bisection& bisection);

/// Lines for a person, values as "A / B". Local.
std::string bisection_text(const Bisection& bisection, const TextStyle& style);

}  // namespace samegrad
