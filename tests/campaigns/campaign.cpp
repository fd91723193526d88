#include "tests/campaigns/campaign.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>
#include <utility>

namespace samegrad {

CampaignOptions campaign_options(int argc, char** argv, std::int64_t budget) {
  CampaignOptions options;
  options.budget = budget;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    if (i + 1 == argc || (word != "--seed" && word != "--budget" && word != "--json")) {
      std::cerr << argv[0] << " [--seed N] [--budget N] [--json FILE]\n";
      std::exit(2);
    }
    if (word == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--budget") options.budget = std::strtoll(argv[i + 1], nullptr, 10);
    if (word == "--json") options.json = argv[i + 1];
  }
  return options;
}

CampaignResult::CampaignResult(std::string name, CampaignOptions options)
    : name_(std::move(name)), options_(std::move(options)) {}

void CampaignResult::count(const std::string& what, std::int64_t by) {
  numbers_[what] = numbers_.value(what, std::int64_t{0}) + by;
}

void CampaignResult::fail(const std::string& what) {
  constexpr std::int64_t kMostTold = 10;
  if (failures_++ < kMostTold) told_.push_back(what);
}

void CampaignResult::broken_variant(const std::string& name, const CampaignResult& found) {
  variants_[name] = found.failures_;
  if (found.failures_ == 0) fail("the broken variant '" + name + "' was not caught");
}

int CampaignResult::finish() const {
  std::cout << name_ << ", seed " << options_.seed << ", budget " << options_.budget << "\n";
  for (const auto& [what, number] : numbers_.items()) std::cout << "  " << what << ": " << number << "\n";
  for (const auto& [name, found] : variants_.items()) {
    std::cout << "  broken variant '" << name << "': " << found << " findings\n";
  }
  std::cout << "  failures: " << failures_ << "\n";
  for (const std::string& line : told_) std::cout << "  FAILED " << line << "\n";
  if (!options_.json.empty()) {
    const Json result = {{"campaign", name_},      {"seed", options_.seed},        {"budget", options_.budget},
                         {"numbers", numbers_},    {"broken_variants", variants_}, {"failures", failures_},
                         {"first_failures", told_}};
    std::ofstream(options_.json) << result.dump(2) << "\n";
  }
  return failures_ == 0 ? 0 : 1;
}

}  // namespace samegrad
