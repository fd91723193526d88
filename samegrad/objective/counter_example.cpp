#include "samegrad/objective/counter_example.h"

#include "samegrad/base/check.h"

namespace samegrad {

TwoMeans two_means(std::span<const LossSum> ranks) {
  SAMEGRAD_CHECK_OP(ranks.size(), >, 0U);
  LossSum all;
  double sum_of_means = 0.0;
  for (const LossSum& rank : ranks) {
    all.sum += rank.sum;
    all.count += rank.count;
    sum_of_means += rank.mean();
  }
  return {.mean_of_means = sum_of_means / static_cast<double>(ranks.size()), .global_mean = all.mean()};
}

CounterExample counter_example(std::span<const ExampleRank> ranks) {
  CounterExample example;
  std::vector<LossSum> losses;
  std::vector<LossSum> gradients;
  for (const ExampleRank& rank : ranks) {
    const auto tokens = static_cast<double>(rank.tokens);
    losses.push_back({.sum = tokens * rank.loss_per_token, .count = rank.tokens});
    gradients.push_back({.sum = tokens * 2.0 * (0.0 - rank.toy_target), .count = rank.tokens});
    example.local_tokens.push_back(rank.tokens);
    example.local_loss_sums.push_back(losses.back().sum);
  }
  example.loss = two_means(losses);
  example.toy_gradient = two_means(gradients);
  return example;
}

Json counter_example_to_json(const CounterExample& example) {
  return {{"local_tokens", example.local_tokens},
          {"local_loss_sums", example.local_loss_sums},
          {"mean_of_means", example.loss.mean_of_means},
          {"global_mean", example.loss.global_mean},
          {"toy_gradient",
           {{"mean_of_means", example.toy_gradient.mean_of_means}, {"global_mean", example.toy_gradient.global_mean}}}};
}

}  // namespace samegrad
