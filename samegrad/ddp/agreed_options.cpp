#include "samegrad/ddp/agreed_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using Options = DistributedDataParallelOptions;

constexpr double kMostMebibytes = 1e9;

std::string text(bool value) { return value ? "true" : "false"; }

std::string text(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string text(GradientReduction reduction) {
  switch (reduction) {
    case GradientReduction::kMean:
      return "mean";
    case GradientReduction::kSum:
      return "sum";
    default:
      return "";
  }
}

std::string text(ReductionOrder order) {
  switch (order) {
    case ReductionOrder::kCanonical:
      return "canonical";
    case ReductionOrder::kNative:
      return "native";
  }
  return "";
}

std::string text(Overlap overlap) {
  switch (overlap) {
    case Overlap::kAuto:
      return "auto";
    case Overlap::kOn:
      return "on";
    case Overlap::kOff:
      return "off";
  }
  return "";
}

/// Which ones, not in which order they were given.
std::string text(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? "none" : list;
}

constexpr std::array kAgreed{
    AgreedOption{"reduction", [](const Options& o) { return text(o.reduction); }},
    AgreedOption{"order", [](const Options& o) { return text(o.order); }},
    AgreedOption{"broadcast_buffers", [](const Options& o) { return text(o.broadcast_buffers); }},
    AgreedOption{"find_unused_parameters", [](const Options& o) { return text(o.find_unused_parameters); }},
    AgreedOption{"static_graph", [](const Options& o) { return text(o.static_graph); }},
    AgreedOption{"window_seed",
                 [](const Options& o) { return o.window_seed ? std::to_string(*o.window_seed) : "unset"; }},
    AgreedOption{"init_sync", [](const Options& o) { return text(o.init_sync); }},
    AgreedOption{"bucket_cap_mb", [](const Options& o) { return text(o.bucket_cap_mb); }},
    AgreedOption{"first_bucket_mb", [](const Options& o) { return text(o.first_bucket_mb); }},
    AgreedOption{"overlap", [](const Options& o) { return text(o.overlap); }},
    AgreedOption{"delay_all_reduce", [](const Options& o) { return text(o.delay_all_reduce); }},
    AgreedOption{"check_sync_every", [](const Options& o) { return std::to_string(o.check_sync_every); }},
};

void refuse(const std::string& message) { throw InputError("ddp", message); }

void check_mebibytes(const char* name, double value) {
  if (value > 0.0 && value <= kMostMebibytes) return;
  refuse(std::string(name) + " " + text(value) + ": allowed is above 0 and at most " + text(kMostMebibytes) +
         " MiB; leave it away for PyTorch's");
}

}  // namespace

std::span<const AgreedOption> agreed_options() { return kAgreed; }

std::vector<std::string> option_lines(const Options& options) {
  std::vector<std::string> lines;
  for (const AgreedOption& option : kAgreed) {
    lines.push_back("option " + std::string(option.name) + ": " + option.value(options));
  }
  return lines;
}

void check_options(const Options& options, const std::vector<NamedTensor>& parameters) {
  check_mebibytes("bucket_cap_mb", options.bucket_cap_mb);
  check_mebibytes("first_bucket_mb", options.first_bucket_mb);
  if (text(options.reduction).empty()) {
    refuse("reduction kWindow: allowed are kMean and kSum; DistributedDataParallel::window needs no choice");
  }
  if (text(options.order).empty()) refuse("order is no ReductionOrder: allowed are kCanonical and kNative");
  if (text(options.overlap).empty()) refuse("overlap is no Overlap: allowed are kAuto, kOn and kOff");
  if (options.check_sync_every < 0) {
    refuse("check_sync_every " + std::to_string(options.check_sync_every) +
           ": allowed is 0 (never) and above; give a number of exchanges");
  }
  if (options.timeout.count() <= 0) {
    refuse("timeout " + std::to_string(options.timeout.count()) +
           " ms: allowed is above 0; give the longest wait for another rank");
  }
  for (const std::string& name : options.delay_all_reduce) {
    if (std::ranges::find(parameters, name, &NamedTensor::name) == parameters.end()) {
      refuse("delay_all_reduce '" + name + "': no parameter has this name; names are as named_parameters() has them");
    }
  }
}

}  // namespace samegrad
