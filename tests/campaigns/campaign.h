// What every campaign has: a seed, a budget, a result as JSON, and an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/base/json.h"

namespace samegrad {

/// [--seed N] [--budget N] [--json FILE].
struct CampaignOptions {
  std::uint64_t seed = 1;
  std::int64_t budget = 0;  ///< what it counts is each campaign's own
  std::string json;         ///< file for the result; none: not written
};

/// Ends the program with code 2 where the words are others.
CampaignOptions campaign_options(int argc, char** argv, std::int64_t budget);

/// What was tried and what did not hold.
class CampaignResult {
 public:
  CampaignResult(std::string name, CampaignOptions options);

  /// A number for the result.
  void count(const std::string& what, std::int64_t by = 1);
  /// Something that must hold did not.
  void fail(const std::string& what);
  /// The campaign was run on a broken variant, in which it must find something.
  void broken_variant(const std::string& name, const CampaignResult& found);
  std::int64_t failures() const { return failures_; }

  /// Prints the numbers, writes the JSON; 0, or 1 where something failed or a broken variant was not caught.
  int finish() const;

 private:
  std::string name_;
  CampaignOptions options_;
  Json numbers_ = Json::object();
  Json variants_ = Json::object();
  std::vector<std::string> told_;
  std::int64_t failures_ = 0;
};

}  // namespace samegrad
