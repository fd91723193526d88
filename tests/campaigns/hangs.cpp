// Campaign: rank r is stopped, hangs, computes on, is killed or is slow at update u in phase p. The others must name
// it, its update, its phase and both collective calls, in the same words and in time; a slow rank that comes back is no
// failure.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/native_all_reduce.h"
#include "samegrad/comm/status_record.h"
#include "tests/campaigns/broken_hangs.h"
#include "tests/campaigns/forked_case.h"
#include "tests/campaigns/timed_campaign.h"

namespace samegrad::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kDeadline{300};
constexpr milliseconds kLong{60'000};
constexpr std::int64_t kUpdates = 3;
constexpr std::array kPhases{"data", "agreement", "backward", "exchange", "evaluation", "save"};
/// The call of each phase; none in "backward".
constexpr std::array kCalls{"text", "agreement", "", "gradient", "scores", "saved"};

enum class Kind { kStop, kHang, kCompute, kKill, kSlow, kStopAndContinue, kTooLate, kKinds };
constexpr std::array kKindNames{"stop", "hang", "compute", "kill", "slow", "stop-and-continue", "too-late"};

struct Case {
  Kind kind = Kind::kStop;
  Backend backend = Backend::kShm;
  int ranks = 2;
  int rank = 0;
  std::int64_t update = 1;
  std::size_t phase = 0;
  bool native = false;
  bool uneven = false;  ///< one rank has a short deadline, the others wait longer: they hear of it

  std::string text() const {
    return std::string(kKindNames[static_cast<std::size_t>(kind)]) + " rank " + std::to_string(rank) + " of " +
           std::to_string(ranks) + " at update " + std::to_string(update) + " in " + kPhases[phase] + " over " +
           (backend == Backend::kShm ? "shm" : "gloo") + (native ? ", native" : "") + (uneven ? ", uneven" : "");
  }
  bool comes_back() const { return kind == Kind::kSlow || kind == Kind::kStopAndContinue; }
  /// The name of the call to which it does not come, and of the one before with its update.
  std::string awaited() const { return kCalls[phase == 2 ? 3 : phase]; }
  std::string last_call() const {
    if (phase == 0 && update == 1) return "'join'";
    std::string text = "'";
    text += phase == 0 ? kCalls.back() : kCalls[phase == 3 ? 1 : phase - 1];
    text += "' of update ";
    text += std::to_string(phase == 0 ? update - 1 : update);
    return text;
  }
};

/// Whether all others wait in a call that this rank has not come to, or have failed.
bool others_are(const std::filesystem::path& folder, int rank, int ranks, bool failed, std::int64_t my_calls) {
  const std::vector<StatusReading> all = read_status_folder(folder);
  return static_cast<int>(all.size()) == ranks && std::ranges::all_of(all, [&](const StatusReading& reading) {
           if (reading.rank == rank) return true;
           if (!reading.status) return false;
           return failed ? reading.status->state == RankState::kFailed
                         : reading.status->state == RankState::kWaiting && reading.status->collectives > my_calls;
         });
}

void await_others(const std::filesystem::path& folder, int rank, int ranks, bool failed) {
  const StatusReading mine = read_status_file(status_path(folder, rank), rank);
  while (!others_are(folder, rank, ranks, failed, mine.status->collectives)) std::this_thread::yield();
}

void strike(const Case& one, const std::filesystem::path& folder) {
  switch (one.kind) {
    case Kind::kStop:
    case Kind::kStopAndContinue:
      raise(SIGSTOP);
      return;
    case Kind::kHang:
      for (;;) pause();
    case Kind::kCompute:
      while (getppid() > 0) {
      }
      return;
    case Kind::kKill:
      raise(SIGKILL);
      return;
    case Kind::kSlow:
    case Kind::kTooLate:
      await_others(folder, one.rank, one.ranks, one.kind == Kind::kTooLate);
      return;
    case Kind::kKinds:
      return;
  }
}

void call_of_phase(Communicator& comm, std::size_t phase, const CallLabel& label, bool native) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::byte> mine(1'000);
  std::vector<std::byte> all(mine.size() * ranks);
  switch (phase) {
    case 0:
      return comm.broadcast(mine, 0, label);
    case 1:
    case 4:
      return comm.all_gather(mine, all, label);
    case 3: {
      if (auto* const gloo = dynamic_cast<NativeAllReduce*>(&comm); native && gloo != nullptr) {
        std::vector<float> values(1'000);
        return gloo->all_reduce_sum(std::span(values), label);
      }
      std::vector<std::byte> send(all.size());
      return comm.all_to_all(send, all, label);
    }
    case 5:
      return comm.barrier(label);
    default:
      return;
  }
}

void be_rank(const Case& one, const std::filesystem::path& folder, Communicator& comm, Clock::time_point& deadline) {
  bool struck = false;
  for (std::int64_t update = 1; update <= kUpdates; ++update) {
    for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
      note_phase(comm, kPhases[phase], update);
      if (update == one.update && phase == one.phase) {
        struck = true;
        if (comm.rank() == one.rank) strike(one, folder);
      }
      // Short waits begin where the fault is, so that a busy machine cannot make another rank late before.
      const bool is_short = struck && !one.comes_back();
      const bool tells = !one.uneven || comm.rank() == (one.rank == 0 ? 1 : 0);
      const milliseconds timeout = is_short && tells ? kDeadline : kLong;
      deadline = Clock::now() + (is_short ? kDeadline : kLong);
      call_of_phase(comm, phase, {kCalls[phase], update, timeout}, one.native);
    }
  }
}

/// "" or what a survivor's line lacks.
std::string lacks(const Case& one, const std::string& line, pid_t culprit) {
  const std::string update = " of update " + std::to_string(one.update);
  const std::string who = "[comm] rank " + std::to_string(one.rank) + " (pid " + std::to_string(culprit) + ") ";
  std::vector<std::string> parts{"it was last in " + one.last_call() + ", entered ",
                                 "then in phase '" + std::string(kPhases[one.phase]) + "'" + update + ", where"};
  if (one.kind == Kind::kKill) {
    parts.push_back(who + "ended without leaving the run before '" + one.awaited() + "'" + update + ": ");
  } else {
    parts.push_back(who + "did not come to '" + one.awaited() + "'" + update + " within 0.3 s: ");
    parts.emplace_back(one.ranks == 2 ? " waits; " : " wait; ");
  }
  const bool says_stopped = line.find("it is stopped (SIGCONT wakes it)") != std::string::npos;
  if (says_stopped != (one.kind == Kind::kStop)) return "stopped or not";
  if (one.kind == Kind::kHang) parts.emplace_back(", and it sleeps");
  for (const std::string& part : parts) {
    if (line.find(part) == std::string::npos) return part;
  }
  return "";
}

std::string judge(const Case& one, const std::vector<RankEnd>& ends) {
  const pid_t culprit = ends[static_cast<std::size_t>(one.rank)].pid;
  std::string line;
  for (int rank = 0; rank < one.ranks; ++rank) {
    const RankEnd& end = ends[static_cast<std::size_t>(rank)];
    const std::string who = "rank " + std::to_string(rank);
    if (one.comes_back()) {
      if (!end.ended || end.threw) return who + ": a false alarm: " + end.message;
      continue;
    }
    if (rank == one.rank && one.kind != Kind::kTooLate) continue;
    if (!end.ended || !end.threw) return who + " did not end by an exception";
    if (line.empty()) line = end.message;
    if (end.message != line) return who + " tells another story: '" + end.message + "', not '" + line + "'";
    if (end.culprit_rank != (rank == one.rank ? -1 : one.rank)) return who + ": culprit in '" + line + "'";
    if (const std::string missing = lacks(one, end.message, culprit); !missing.empty()) {
      return "'" + missing + "' is not in '" + end.message + "'";
    }
  }
  return "";
}

double latest(const Case& one, const std::vector<RankEnd>& ends) {
  double seconds = 0;
  for (int rank = 0; rank < one.ranks; ++rank) {
    if (rank != one.rank && !one.comes_back()) {
      seconds = std::max(seconds, ends[static_cast<std::size_t>(rank)].late_seconds);
    }
  }
  return seconds;
}

/// Wakes the stopped rank once all others wait for it.
void wake(const Case& one, const std::filesystem::path& folder, pid_t pid) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT);
  await_others(folder, one.rank, one.ranks, /*failed=*/false);
  kill(pid, SIGCONT);
}

std::vector<Case> all_cases(std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Backend backend : {Backend::kShm, Backend::kGloo}) {
    for (int ranks = 2; ranks <= 4; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::int64_t update = 1; update <= kUpdates; ++update) {
          for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
            for (int kind = 0; kind < static_cast<int>(Kind::kKinds); ++kind) {
              cases.push_back({static_cast<Kind>(kind), backend, ranks, rank, update, phase, update == 2, update == 3});
            }
          }
        }
      }
    }
  }
  std::ranges::shuffle(cases, std::mt19937_64(seed));
  return cases;
}

}  // namespace

int run_campaign(const CampaignOptions& options) {
  break_for(options.broken);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("samegrad-hangs-" + std::to_string(getpid()));
  CampaignResult result("hangs", options);
  for (const Case& one : all_cases(options.seed)) {
    if (!result.goes_on()) break;
    ForkedCase forked{one.backend, one.ranks, folder, {}, std::chrono::seconds(options.broken.empty() ? 30 : 5)};
    if (!one.comes_back() && one.kind != Kind::kTooLate) forked.never_ends.push_back(one.rank);
    const std::vector<RankEnd> ends = run_forked(
        forked, [&](Communicator& comm, Clock::time_point& deadline) { be_rank(one, folder, comm, deadline); },
        [&](const std::vector<pid_t>& pids) {
          if (one.kind == Kind::kStopAndContinue) wake(one, folder, pids[static_cast<std::size_t>(one.rank)]);
        });
    result.add(kKindNames[static_cast<std::size_t>(one.kind)], one.text(), judge(one, ends), latest(one, ends));
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
