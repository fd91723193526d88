#include "samegrad/config/refusals.h"

#include <string_view>
#include <utility>

namespace samegrad {
namespace {

constexpr std::size_t kMostTold = 20;
constexpr std::size_t kLongestLine = 4'000;
constexpr std::string_view kStage = "[config] ";

}  // namespace

void Refusals::add(std::string line) {
  if (line.starts_with(kStage)) line.erase(0, kStage.size());
  lines_.push_back(std::move(line));
  if (lines_.size() == kMostTold) throw_if_any();
}

void Refusals::throw_if_any() const {
  if (lines_.empty()) return;
  if (lines_.size() == 1) throw InputError("config", lines_.front());
  std::string all = lines_.size() == kMostTold ? "the first " : "";
  all += std::to_string(lines_.size()) + " faults";
  for (std::size_t i = 0; i < lines_.size() && (i == 0 || all.size() + lines_[i].size() < kLongestLine); ++i) {
    all += " (" + std::to_string(i + 1) + ") " + lines_[i];
  }
  throw InputError("config", all);
}

}  // namespace samegrad
