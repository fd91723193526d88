// What all campaign programs take and print: `--seed N --budget SECONDS --cases N --broken NAME --json`.
#pragma once

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad::testing {

struct CampaignOptions {
  std::uint64_t seed = 1;
  double budget_seconds = 600;         ///< no case begins later
  std::int64_t cases = 1'000'000'000;  ///< at most
  std::string broken;                  ///< a mistake to be caught; "": none
  bool json = false;
  bool allow_late = false;  ///< a report that comes late is counted, but no failure: for busy machines
};

inline CampaignOptions parse_campaign(int argc, char** argv) {
  CampaignOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json" || name == "--allow-late") {
      (name == "--json" ? options.json : options.allow_late) = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(name + " without a value, or unknown");
    const std::string value = argv[++i];
    if (name == "--seed") {
      options.seed = std::stoull(value);
    } else if (name == "--budget") {
      options.budget_seconds = std::stod(value);
    } else if (name == "--cases") {
      options.cases = std::stoll(value);
    } else if (name == "--broken") {
      options.broken = value;
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return options;
}

/// Counts cases, by kind, and keeps the first that were wrong.
class CampaignResult {
 public:
  CampaignResult(std::string name, const CampaignOptions& options)
      : name_(std::move(name)), options_(options), start_(std::chrono::steady_clock::now()) {}

  bool goes_on() const { return cases_ < options_.cases && seconds() < options_.budget_seconds; }

  /// `wrong`: "" or what was not as it must be.
  void add(const std::string& kind, const std::string& description, const std::string& wrong, double late_seconds = 0) {
    ++cases_;
    ++kinds_[kind];
    latest_seconds_ = std::max(latest_seconds_, late_seconds);
    if (late_seconds > 1) ++late_;
    if (wrong.empty()) return;
    if (wrong_++ < 10) first_wrong_.push_back({{"case", description}, {"wrong", wrong}});
  }

  /// Prints; returns the exit code.
  int finish() const {
    const bool failed = wrong_ > 0 || cases_ == 0 || (late_ > 0 && !options_.allow_late);
    const Json json{{"campaign", name_},
                    {"seed", options_.seed},
                    {"broken", options_.broken},
                    {"cases", cases_},
                    {"kinds", kinds_},
                    {"wrong", wrong_},
                    {"late", late_},
                    {"latest_s", latest_seconds_},
                    {"seconds", seconds()},
                    {"first_wrong", first_wrong_}};
    if (options_.json) {
      std::cout << json.dump(2) << "\n";
    } else {
      std::cout << name_ << ": " << cases_ << " cases, " << wrong_ << " wrong, " << late_ << " late (most "
                << latest_seconds_ << " s after the deadline), seed " << options_.seed << ", " << seconds() << " s\n";
      for (const Json& one : first_wrong_) std::cout << one.dump() << "\n";
    }
    return failed ? 1 : 0;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  std::string name_;
  CampaignOptions options_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t cases_ = 0;
  std::int64_t wrong_ = 0;
  std::int64_t late_ = 0;
  double latest_seconds_ = 0;
  std::map<std::string, std::int64_t> kinds_;
  Json first_wrong_ = Json::array();
};

}  // namespace samegrad::testing
