#include "samegrad/ddp/backward_agreement.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace samegrad {
namespace {

constexpr std::size_t kMostNamed = 5;
constexpr std::size_t kFailureBytes = 1000;  // a longer line is cut, on the failing rank too
constexpr std::size_t kChangeBytes = 400;
// Where in a record what begins, after two flags.
constexpr std::size_t kPasses = 2;
constexpr std::size_t kFailure = kPasses + sizeof(BackwardReport::passes);
constexpr std::size_t kChange = kFailure + kFailureBytes;
constexpr std::size_t kBitmap = kChange + kChangeBytes;

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

/// "" or in what the first rank that differs from rank 0 differs.
std::string difference_of(std::span<const BackwardReport> reports) {
  const BackwardReport& first = reports.front();
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    const BackwardReport& other = reports[rank];
    const std::string name = ", rank " + std::to_string(rank) + ": ";
    if (other.change != first.change) {
      const auto said = [](const BackwardReport& report) { return report.change.empty() ? "nothing" : report.change; };
      return "since the model was wrapped, ranks changed it differently: rank 0: " + said(first) + name + said(other) +
             "; make the same change on every rank before the same forward";
    }
    if (other.hooked != first.hooked) {
      const auto said = [](const BackwardReport& report) { return report.hooked ? "one" : "none"; };
      return std::string("ranks differ in whether they have a communication hook: rank 0: ") + said(first) + name +
             said(other) + "; register the same one on every rank";
    }
  }
  return "";
}

void put_text(std::string_view text, std::span<unsigned char> field) {
  std::copy_n(text.begin(), std::min(text.size(), field.size() - 1), field.begin());
}

}  // namespace

bool same_changes(std::span<const BackwardReport> reports) {
  return std::ranges::all_of(reports, [&](const BackwardReport& r) { return r.change == reports.front().change; });
}

BackwardDecision decide_backward(std::span<const BackwardReport> reports, std::span<const std::string> names,
                                 UnusedParameters unused, std::int64_t backward) {
  BackwardDecision decision;
  decision.used_somewhere.assign(names.size(), false);
  decision.warning = unequal_passes(reports, backward);
  const auto failed = std::ranges::find_if(reports, [](const BackwardReport& r) { return !r.failure.empty(); });
  if (failed != reports.end()) {
    decision.failure = failed->failure;
    return decision;
  }
  if (std::string difference = difference_of(reports); !difference.empty()) {
    decision.failure = "[ddp] backward " + std::to_string(backward) + ": " + difference;
    return decision;
  }
  for (const BackwardReport& report : reports) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (report.used[i]) decision.used_somewhere[i] = true;
    }
  }
  if (unused == UnusedParameters::kAllow) return decision;
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

std::vector<BackwardReport> exchange_reports(Communicator& comm, const BackwardReport& mine, std::size_t parameters,
                                             const CallLabel& label) {
  std::vector<unsigned char> sent(kBitmap + (parameters + 7) / 8, 0);
  const std::span<unsigned char> fields(sent);
  sent[0] = mine.joined ? 1 : 0;
  sent[1] = mine.hooked ? 1 : 0;
  std::memcpy(sent.data() + kPasses, &mine.passes, sizeof mine.passes);
  put_text(mine.failure, fields.subspan(kFailure, kFailureBytes));
  put_text(mine.change, fields.subspan(kChange, kChangeBytes));
  for (std::size_t i = 0; i < std::min(mine.used.size(), parameters); ++i) {
    if (mine.used[i]) sent[kBitmap + i / 8] |= static_cast<unsigned char>(1U << (i % 8));
  }
  std::vector<unsigned char> all(sent.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(fields), std::as_writable_bytes(std::span(all)), label);
  std::vector<BackwardReport> reports;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const unsigned char* const bytes = all.data() + rank * sent.size();
    BackwardReport report;
    report.joined = bytes[0] != 0;
    report.hooked = bytes[1] != 0;
    report.failure = reinterpret_cast<const char*>(bytes + kFailure);
    report.change = reinterpret_cast<const char*>(bytes + kChange);
    std::memcpy(&report.passes, bytes + kPasses, sizeof report.passes);
    for (std::size_t i = 0; i < parameters; ++i) {
      report.used.push_back((bytes[kBitmap + i / 8] >> (i % 8) & 1U) != 0);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace samegrad
