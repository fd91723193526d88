// Campaign: one rank calls something else than the others, or ends instead. All must leave by an exception that tells
// one story, with both calls in full; nobody aborts, and nobody waits.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <thread>

#include "samegrad/comm/call_record.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/comm/status_record.h"
#include "tests/campaigns/forked_case.h"
#include "tests/campaigns/timed_campaign.h"

namespace {

std::string g_mistake;

}  // namespace

// Mistakes in the comparison, which the campaign must catch; in the place of the real function (--wrap).
extern "C" {

bool __real__ZN8samegrad9same_callERKNS_10CallRecordES2_(const samegrad::CallRecord& a, const samegrad::CallRecord& b);
bool __wrap__ZN8samegrad9same_callERKNS_10CallRecordES2_(const samegrad::CallRecord& a, const samegrad::CallRecord& b) {
  if (g_mistake == "compares-nothing") return true;
  if (g_mistake == "compares-operations") return a.operation == b.operation;
  if (g_mistake == "compares-no-types") {
    samegrad::CallRecord typed = b;
    typed.dtype = a.dtype;
    return __real__ZN8samegrad9same_callERKNS_10CallRecordES2_(a, typed);
  }
  return __real__ZN8samegrad9same_callERKNS_10CallRecordES2_(a, b);
}

}  // extern "C"

namespace samegrad::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Variant {
  const char* operation;  ///< "ends": the rank makes no call and leaves in good order
  const char* name;
  std::size_t bytes;  ///< of a rank's block, or of the whole for broadcast and all_reduce
  int root = 0;
  CallDtype dtype = CallDtype::kBytes;
};

constexpr std::array kVariants{
    Variant{"barrier", "start", 0},
    Variant{"barrier", "end", 0},
    Variant{"all_gather", "scores", 64},
    Variant{"all_gather", "scores", 128},
    Variant{"all_gather", "losses", 64},
    Variant{"all_gather", "scores", 64, 0, CallDtype::kFloat32},
    Variant{"all_gather", "scores", 64, 0, CallDtype::kFloat64},
    Variant{"all_gather", "scores", 0},
    Variant{"all_gather", "scores", 3'000'000},
    Variant{"all_to_all", "scores", 64},
    Variant{"all_to_all", "scores", 65},
    Variant{"broadcast", "scores", 64, 0},
    Variant{"broadcast", "scores", 64, 1},
    Variant{"broadcast", "scores", 2'500'000, 0},
    Variant{"all_reduce", "scores", 256, 0, CallDtype::kFloat32},
    Variant{"all_reduce", "scores", 256, 0, CallDtype::kFloat64},
    Variant{"all_reduce", "scores", 512, 0, CallDtype::kFloat64},
    Variant{"ends", "", 0},
};

struct Case {
  Variant usual{};
  Variant odd{};
  Backend backend = Backend::kShm;
  int ranks = 2;
  int odd_rank = 0;
  int late_rank = -1;  ///< comes when all others have ended: they must not wait for it

  std::string text() const {
    return std::string(backend == Backend::kShm ? "shm" : "gloo") + ", " + std::to_string(ranks) +
           " ranks: " + usual.operation + " '" + usual.name + "' " + std::to_string(usual.bytes) + ", but rank " +
           std::to_string(odd_rank) + ": " + odd.operation + " '" + odd.name + "' " + std::to_string(odd.bytes) +
           (late_rank < 0 ? "" : ", and rank " + std::to_string(late_rank) + " is late");
  }
};

constexpr std::int64_t kUpdate = 3;

void await_end_of_others(const std::filesystem::path& folder, const Case& one) {
  const auto has_ended = [&](const StatusReading& reading) {
    return reading.rank == one.late_rank || (reading.status && (reading.status->state == RankState::kDone ||
                                                                reading.status->state == RankState::kFailed));
  };
  for (;;) {
    const std::vector<StatusReading> all = read_status_folder(folder);
    if (static_cast<int>(all.size()) == one.ranks && std::ranges::all_of(all, has_ended)) return;
    std::this_thread::yield();
  }
}

void make_call(Communicator& comm, const Variant& variant, milliseconds timeout) {
  CallLabel label{variant.name, kUpdate, timeout};
  label.dtype = variant.dtype;
  const std::string operation = variant.operation;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::byte> mine(variant.bytes);
  if (operation == "barrier") {
    comm.barrier(label);
  } else if (operation == "all_gather") {
    std::vector<std::byte> all(mine.size() * ranks);
    comm.all_gather(mine, all, label);
  } else if (operation == "all_to_all") {
    std::vector<std::byte> send(mine.size() * ranks);
    std::vector<std::byte> recv(send.size());
    comm.all_to_all(send, recv, label);
  } else if (operation == "broadcast") {
    comm.broadcast(mine, variant.root, label);
  } else if (operation == "all_reduce") {
    auto& native = dynamic_cast<NativeAllReduce&>(comm);
    if (variant.dtype == CallDtype::kFloat32) {
      std::vector<float> values(variant.bytes / sizeof(float));
      native.all_reduce_sum(std::span(values), label);
    } else {
      std::vector<double> values(variant.bytes / sizeof(double));
      native.all_reduce_sum(std::span(values), label);
    }
  }
}

/// What the story must say of a rank in `variant`, written here by hand.
std::string described(const Variant& variant, int ranks) {
  const bool whole = std::string_view(variant.operation) == "all_to_all";
  std::string text = std::string(" calls ") + variant.operation + " '" + variant.name + "' of update 3 (" +
                     std::to_string(whole ? variant.bytes * static_cast<std::size_t>(ranks) : variant.bytes) + " bytes";
  if (variant.dtype != CallDtype::kBytes) {
    text += variant.dtype == CallDtype::kFloat32 ? " of float32" : " of float64";
  }
  if (std::string_view(variant.operation) == "broadcast") text += ", root " + std::to_string(variant.root);
  return text + ", its call 2)";  // the first was the join
}

std::string judge(const Case& one, const std::vector<RankEnd>& ends) {
  const bool leaves = std::string_view(one.odd.operation) == "ends";
  const std::string odd = "rank " + std::to_string(one.odd_rank);
  std::string line;
  for (int rank = 0; rank < one.ranks; ++rank) {
    const RankEnd& end = ends[static_cast<std::size_t>(rank)];
    const std::string who = "rank " + std::to_string(rank);
    if (!end.ended) return who + " hangs, or was ended by a signal";
    if (leaves && rank == one.odd_rank) {
      if (end.threw) return who + " threw: " + end.message;
      continue;
    }
    if (!end.threw) return who + " was content";
    if (line.empty()) line = end.message;
    if (end.message != line) return who + " tells another story: '" + end.message + "', not '" + line + "'";
    if (end.culprit_rank != (leaves ? one.odd_rank : -1)) return who + ": culprit in '" + line + "'";
  }
  std::vector<std::string> parts{odd + described(one.odd, one.ranks), described(one.usual, one.ranks),
                                 "[comm] ranks do not call the same: rank "};
  if (leaves) {
    std::string awaited(one.usual.name);
    awaited += "' of update 3";
    parts = {"[comm] " + odd + " (pid ", " left before '" + awaited + ": it was last in 'join'"};
  }
  for (const std::string& part : parts) {
    if (line.find(part) == std::string::npos) return "'" + part + "' is not in '" + line + "'";
  }
  return "";
}

bool fits(const Variant& variant, Backend backend, int ranks) {
  const std::string_view operation = variant.operation;
  return (operation != "all_reduce" || backend == Backend::kGloo) && variant.root < ranks;
}

std::vector<Case> all_cases(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Case> cases;
  for (std::size_t usual = 0; usual + 1 < kVariants.size(); ++usual) {
    for (std::size_t odd = 0; odd < kVariants.size(); ++odd) {
      for (const Backend backend : {Backend::kShm, Backend::kGloo}) {
        for (int ranks = 2; ranks <= 4; ++ranks) {
          const int odd_rank = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
          const bool with_a_late = ranks > 2 && random() % 4 == 0;
          const int late_rank = with_a_late ? (odd_rank + 1) % ranks : -1;
          const Case one{kVariants[usual], kVariants[odd], backend, ranks, odd_rank, late_rank};
          if (usual != odd && fits(one.usual, backend, ranks) && fits(one.odd, backend, ranks)) cases.push_back(one);
        }
      }
    }
  }
  std::ranges::shuffle(cases, random);
  return cases;
}

}  // namespace

int run_campaign(const CampaignOptions& options) {
  constexpr std::array<std::string_view, 4> kKnown{"", "compares-nothing", "compares-operations", "compares-no-types"};
  if (std::ranges::find(kKnown, options.broken) == kKnown.end()) {
    throw std::invalid_argument("--broken " + options.broken);
  }
  g_mistake = options.broken;
  // A mistake may lead to waits for ever: shorter ones show it as well.
  const milliseconds timeout{g_mistake.empty() ? 60'000 : 1'000};
  const std::chrono::seconds limit{g_mistake.empty() ? 30 : 5};
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("samegrad-mismatches-" + std::to_string(getpid()));
  CampaignResult result("mismatches", options);
  for (const Case& one : all_cases(options.seed)) {
    if (!result.goes_on()) break;
    const std::vector<RankEnd> ends =
        run_forked({one.backend, one.ranks, folder, {}, limit}, [&](Communicator& comm, Clock::time_point& deadline) {
          if (comm.rank() == one.late_rank) await_end_of_others(folder, one);
          deadline = Clock::now() + timeout;
          make_call(comm, comm.rank() == one.odd_rank ? one.odd : one.usual, timeout);
        });
    result.add(std::string(one.usual.operation) + "/" + one.odd.operation, one.text(), judge(one, ends));
  }
  std::filesystem::remove_all(folder);
  return result.finish();
}

}  // namespace samegrad::testing

int main(int argc, char** argv) {
  try {
    return samegrad::testing::run_campaign(samegrad::testing::parse_campaign(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
