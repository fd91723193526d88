// Evaluation sums do not see the number of ranks: each batch alone, batches by the tree.
#include "samegrad/train/evaluate.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/model/model_cases.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

class Samples final : public SampleSource {
 public:
  explicit Samples(std::vector<Sample> samples) : samples_(std::move(samples)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  Sample sample(std::int64_t id) const override { return samples_.at(static_cast<std::size_t>(id)); }
  std::int64_t supervised_tokens(std::int64_t id) const override { return sample(id).supervised_tokens(); }
  std::int64_t input_tokens(std::int64_t id) const override {
    return static_cast<std::int64_t>(sample(id).inputs.size());
  }

 private:
  std::vector<Sample> samples_;
};

constexpr std::int64_t kBatchSize = 1;

TEST(Evaluate, SumsAreTheTreesOverBatchesForEveryNumberOfRanks) {
  const ModelConfig config = encoder_config();
  const auto model = make_model(config, random_parameters(config, at::kDouble));
  const std::vector<Sample> samples =
      random_samples(config, {3, 9, 1, 17, 30, 2, 5, 8, 13, 21, 34, 4, 7, 11, 18, 29, 6, 10, 16, 26, 12}, /*seed=*/8);
  const Samples source(samples);
  std::vector<double> sums;
  std::int64_t count = 0;
  for (std::size_t first = 0; first < samples.size(); first += kBatchSize) {
    const PackedBatch batch = pack(std::span(samples).subspan(first, kBatchSize));
    sums.push_back(model->loss_sum(batch, std::nullopt).item<double>());
    count += batch.supervised_tokens();
  }
  const double expected = testing::literal_tree(sums, 0, sums.size());
  for (const int world_size : {1, 2, 3, 4, 5, 7, 8, 13}) {
    const auto errors = testing::run_ranks(world_size, [&](Communicator& comm) {
      const Evaluation result = evaluate(*model, source, {}, kBatchSize, comm, std::chrono::minutes(1));
      EXPECT_EQ(result.loss.sum, expected) << world_size << " ranks";
      EXPECT_EQ(result.loss.count, count);
      EXPECT_EQ(result.token_loss.sum, expected);
      EXPECT_EQ(result.token_loss.count, count);
      EXPECT_EQ(result.samples, source.size());
    });
    EXPECT_EQ(errors, testing::nothing_thrown(world_size));
  }
  int differing = 0;  // the control: rank by rank, each rank's own sum first
  for (std::size_t ranks = 1; ranks <= sums.size() / 2; ++ranks) {
    const std::size_t share = (sums.size() + ranks - 1) / ranks;
    double in_rank_order = 0.0;
    for (std::size_t begin = 0; begin < sums.size(); begin += share) {
      double partial = 0.0;
      for (std::size_t i = begin; i < std::min(sums.size(), begin + share); ++i) partial += sums[i];
      in_rank_order += partial;
    }
    EXPECT_NEAR(in_rank_order, expected, 1e-9);
    differing += in_rank_order == expected ? 0 : 1;
  }
  EXPECT_GT(differing, 0) << "the samples must be able to show another order";
}

}  // namespace
}  // namespace samegrad
