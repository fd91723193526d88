// Which rank failed, in an error that all ranks throw because of one of them.
#pragma once

#include <string_view>

namespace samegrad {

class FailingRank {
 public:
  explicit FailingRank(int rank) : rank_(rank) {}
  int failing_rank() const { return rank_; }

 private:
  int rank_;
};

/// An error of one of the families of base/error.h, which tells the rank beside its line. Caught as its family.
template <typename Family>
class ErrorOfRank : public Family, public FailingRank {
 public:
  ErrorOfRank(std::string_view stage, std::string_view message, int rank) : Family(stage, message), FailingRank(rank) {}
};

}  // namespace samegrad
