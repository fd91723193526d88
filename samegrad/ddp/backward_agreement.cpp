#include "samegrad/ddp/backward_agreement.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace samegrad {
namespace {

constexpr std::size_t kMostNamed = 5;
constexpr std::size_t kFailureBytes = 1000;  // a longer line is cut, on the failing rank too
// Where in a record what begins.
constexpr std::size_t kPasses = 1;
constexpr std::size_t kFailure = kPasses + sizeof(BackwardReport::passes);
constexpr std::size_t kBitmap = kFailure + kFailureBytes;

std::string names_of_unused(const BackwardReport& report, std::span<const std::string> names) {
  std::string text;
  std::size_t unused = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (report.used[i]) continue;
    if (++unused <= kMostNamed) text += (unused == 1 ? "" : ", ") + names[i];
  }
  return unused > kMostNamed ? text + " and " + std::to_string(unused - kMostNamed) + " more" : text;
}

/// "" or why the gradients may not be what the user expects: a mean over ranks weighs each alike.
std::string unequal_passes(std::span<const BackwardReport> reports, std::int64_t backward) {
  std::size_t first = 0;
  while (first < reports.size() && reports[first].joined) ++first;
  for (std::size_t rank = first + 1; rank < reports.size(); ++rank) {
    if (reports[rank].joined || reports[rank].passes == reports[first].passes) continue;
    return "[ddp] backward " + std::to_string(backward) + ": since the exchange before, rank " + std::to_string(first) +
           " ran " + std::to_string(reports[first].passes) + " backward passes and rank " + std::to_string(rank) +
           " ran " + std::to_string(reports[rank].passes) +
           "; no_sync does not cover the same passes on all ranks, and each rank weighs the same in the mean";
  }
  return "";
}

}  // namespace

BackwardDecision decide_backward(std::span<const BackwardReport> reports, std::span<const std::string> names,
                                 UnusedParameters unused, std::int64_t backward) {
  BackwardDecision decision;
  decision.used_somewhere.assign(names.size(), false);
  decision.warning = unequal_passes(reports, backward);
  for (const BackwardReport& report : reports) {
    if (decision.failure.empty()) decision.failure = report.failure;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (report.used[i]) decision.used_somewhere[i] = true;
    }
  }
  if (!decision.failure.empty() || unused == UnusedParameters::kAllow) return decision;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].joined || std::ranges::find(reports[rank].used, false) == reports[rank].used.end()) continue;
    decision.failure = "[ddp] backward " + std::to_string(backward) + ": rank " + std::to_string(rank) +
                       " has no gradient for " + names_of_unused(reports[rank], names) +
                       "; use every parameter in each forward, freeze it (requires_grad false), or set "
                       "find_unused_parameters";
    return decision;
  }
  return decision;
}

std::vector<BackwardReport> exchange_reports(Communicator& comm, const BackwardReport& mine, const CallLabel& label) {
  const std::size_t bitmap = (mine.used.size() + 7) / 8;
  const std::size_t record = kBitmap + bitmap;
  std::vector<unsigned char> sent(record, 0);
  sent[0] = mine.joined ? 1 : 0;
  std::copy_n(mine.failure.begin(), std::min(mine.failure.size(), kFailureBytes - 1), sent.begin() + kFailure);
  std::memcpy(sent.data() + kPasses, &mine.passes, sizeof mine.passes);
  for (std::size_t i = 0; i < mine.used.size(); ++i) {
    if (mine.used[i]) sent[kBitmap + i / 8] |= static_cast<unsigned char>(1U << (i % 8));
  }
  std::vector<unsigned char> all(record * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all)), label);
  std::vector<BackwardReport> reports;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const unsigned char* const bytes = all.data() + rank * record;
    BackwardReport report;
    report.joined = bytes[0] != 0;
    report.failure = reinterpret_cast<const char*>(bytes + kFailure);
    std::memcpy(&report.passes, bytes + kPasses, sizeof report.passes);
    for (std::size_t i = 0; i < mine.used.size(); ++i) {
      report.used.push_back((bytes[kBitmap + i / 8] >> (i % 8) & 1U) != 0);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace samegrad
