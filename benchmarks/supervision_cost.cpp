// `supervision_cost FOLDER`: nanoseconds that a rank spends on its status record for one collective call, for one
// change of phase, and on comparing its call with another rank's, as JSON. The record is kept where a training keeps
// it: in FOLDER, in memory that the ranks share, and in anonymous memory. benchmarks/supervision_cost.py runs it.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>

#include "samegrad/base/json.h"
#include "samegrad/comm/call_record.h"
#include "samegrad/comm/status_writer.h"

namespace samegrad {
namespace {

constexpr int kRounds = 400;
constexpr int kRepeats = 500;  // one round takes less than a millisecond

/// Of one repeat, in the fastest round: what else ran on the machine is left out.
template <typename Work>
double least_ns(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kRepeats; ++i) work(i);
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kRepeats);
  }
  return least;
}

int measure(const char* folder) {
  StatusWriter writer(/*rank=*/0, /*world_size=*/2);
  const auto image = std::make_unique<StatusImage>();
  writer.place_in_memory(*image);
  if (!writer.place_in_folder(folder) || writer.share() < 0) {
    std::cerr << "[benchmark] " << folder << ": the record cannot be kept there\n";
    return 1;
  }
  const CallLabel label{"gradient", 7, std::chrono::minutes(5)};
  const auto record = [&] { return record_call(CallOperation::kAllToAll, 0, 1'130'512, label); };
  const double call_ns = least_ns([&](int) {
    writer.enter(record());
    writer.leave();
  });
  const double phase_ns = least_ns([&](int i) { writer.set_phase(i % 2 == 0 ? "backward" : "exchange", i); });
  const CallRecord call = record();
  CallRecord other = call;
  std::int64_t same = 0;
  const double compare_ns = least_ns([&](int i) {
    other.update = i;
    same += same_call(call, other) ? 1 : 0;
  });
  writer.end(RankState::kDone);
  std::cout << Json{{"call_ns", call_ns}, {"phase_ns", phase_ns}, {"compare_ns", compare_ns}, {"same", same}}.dump()
            << "\n";
  return 0;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "supervision_cost FOLDER\n";
    return 2;
  }
  return samegrad::measure(argv[1]);
}
