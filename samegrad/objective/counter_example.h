// The counter-example that this project begins with, as plain arithmetic: the mean of the ranks' means is not the mean
// over tokens as soon as ranks hold different numbers of tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/objective/loss_sum.h"

namespace samegrad {

/// What one rank holds in the example.
struct ExampleRank {
  std::int64_t tokens = 0;
  double loss_per_token = 0.0;
  double toy_target = 0.0;  ///< of each token in the toy, see toy_gradient
};

/// The lesson's ranks: the mean of means is 2, the mean over tokens 2.5.
inline constexpr std::array<ExampleRank, 2> kLessonRanks{{
    {.tokens = 12, .loss_per_token = 1.0, .toy_target = +1.0},
    {.tokens = 36, .loss_per_token = 3.0, .toy_target = -1.0},
}};

/// The exercise's first case, in which the wrong form cannot be told from the right one: both means are 2.
inline constexpr std::array<ExampleRank, 2> kEqualRanks{{
    {.tokens = 12, .loss_per_token = 1.0, .toy_target = +1.0},
    {.tokens = 12, .loss_per_token = 3.0, .toy_target = -1.0},
}};

/// The same sums averaged in two ways.
struct TwoMeans {
  double mean_of_means = 0.0;  ///< wrong: each rank divides by its own count, then the mean over ranks
  double global_mean = 0.0;    ///< right: the sum of all over the count of all
};

/// Both means over ranks (of losses, or of one component of a gradient). NaN wherever a count of zero is divided by, as
/// in the wrong program itself. Requires at least one rank. Local.
TwoMeans two_means(std::span<const LossSum> ranks);

struct CounterExample {
  std::vector<std::int64_t> local_tokens;
  std::vector<double> local_loss_sums;
  TwoMeans loss;
  /// Gradient of the toy at t = 0: one parameter t, loss (t - target)^2 a token, so 2 * (t - target) a token. For
  /// kLessonRanks the right objective's is +1 (t moves towards the 36 tokens of -1) and mean of means' is 0 (it stays).
  TwoMeans toy_gradient;
};

/// Works out the example for these ranks. Requires at least one rank. Local.
CounterExample counter_example(std::span<const ExampleRank> ranks);

/// {"local_tokens","local_loss_sums","mean_of_means","global_mean","toy_gradient":{"mean_of_means","global_mean"}}.
/// Local.
Json counter_example_to_json(const CounterExample& example);

}  // namespace samegrad
