#include "samegrad/plan/balanced_plan.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/plan/longest_first.h"

namespace samegrad {

namespace {

std::vector<std::uint32_t> lengths_of(const SampleSource& train) {
  std::vector<std::uint32_t> lengths;
  lengths.reserve(static_cast<std::size_t>(train.size()));
  for (std::int64_t id = 0; id < train.size(); ++id) {
    const std::int64_t tokens = train.input_tokens(id);
    if (tokens > std::numeric_limits<std::uint32_t>::max()) {
      throw InputError("plan", "training sample " + std::to_string(id) + ": " + std::to_string(tokens) +
                                   " tokens, at most 4294967295 can be balanced; set plan.balance=none");
    }
    lengths.push_back(static_cast<std::uint32_t>(tokens));
  }
  return lengths;
}

class BalancedPlan : public UpdatePlan {
 public:
  BalancedPlan(std::unique_ptr<UpdatePlan> plan, std::vector<std::uint32_t> lengths, const SampleCost& cost)
      : plan_(std::move(plan)),
        lengths_(std::move(lengths)),
        cost_(cost),
        rule_(std::string(plan_->rule()) + "+lpt-1"),
        digest_(sha256_hex(Json{
            {"rule", rule_},
            {"plan", plan_->digest()},
            {"cost_per_token", cost_.per_token},
            {"cost_per_token_pair", cost_.per_token_pair},
            {"lengths",
             lengths_digest()}}.dump())) {}

  std::int64_t updates() const override { return plan_->updates(); }

  PlanWindow window(std::int64_t update) const override {
    PlanWindow window = plan_->window(update);
    Atom ids;
    std::vector<double> costs;
    for (const Atom& atom : window.atoms) {
      for (const std::int64_t id : atom) {
        ids.push_back(id);
        costs.push_back(cost_.of(lengths_[static_cast<std::size_t>(id)]));
      }
    }
    const auto spread = longest_first(costs, static_cast<std::int64_t>(window.atoms.size()));
    for (std::size_t atom = 0; atom < spread.size(); ++atom) {
      window.atoms[atom].clear();
      for (const std::int64_t position : spread[atom]) {
        window.atoms[atom].push_back(ids[static_cast<std::size_t>(position)]);
      }
    }
    return window;
  }

  PlanCursor cursor(std::int64_t updates_done) const override { return plan_->cursor(updates_done); }
  std::string_view rule() const override { return rule_; }
  std::string digest() const override { return digest_; }

 private:
  std::string lengths_digest() const {
    return xxh3_128_hex({reinterpret_cast<const char*>(lengths_.data()), lengths_.size() * sizeof(lengths_[0])});
  }

  std::unique_ptr<UpdatePlan> plan_;
  std::vector<std::uint32_t> lengths_;  // input tokens, by id
  SampleCost cost_;
  std::string rule_;
  std::string digest_;
};

}  // namespace

std::unique_ptr<UpdatePlan> make_balanced_plan(std::unique_ptr<UpdatePlan> plan, const SampleSource& train,
                                               const SampleCost& cost) {
  return std::make_unique<BalancedPlan>(std::move(plan), lengths_of(train), cost);
}

}  // namespace samegrad
