// One hash of the parameters after every update for every number of processes, with everything around the gradient that
// could see it: optimizer state, weight decay, clipping, schedules, dropout, sums of losses, validation.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "tests/multiproc/forked_training.h"

namespace samegrad {
namespace {

constexpr std::int64_t kUpdates = 5;

class OneHash : public ForkedTraining,
                public testing::WithParamInterface<std::tuple<std::string, std::string, std::string>> {
 protected:
  Settings settings() const {
    const auto& [task, optimizer, dropout] = GetParam();
    Settings all = tiny_model();
    const auto add = [&all](const Settings& more) { all.insert(all.end(), more.begin(), more.end()); };
    add({"evaluation.every=2", "evaluation.batch_size=3", "optimizer.weight_decay=0.1", "optimizer.max_grad_norm=0.2",
         "schedule.warmup_updates=2", "plan.virtual_ranks=2", "model.dropout=" + dropout});
    if (optimizer == "adamw") {
      add({"optimizer.kind=adamw", "optimizer.learning_rate=0.01", "schedule.kind=cosine"});
    } else {
      add({"optimizer.momentum=0.9", "optimizer.learning_rate=0.1", "schedule.kind=linear"});
    }
    if (task == "text") {
      add(ten_samples());
      add({"plan.accumulation=3", "plan.batch_size_per_rank=1", "plan.updates=" + std::to_string(kUpdates)});
    } else {
      add({"data.train_sequences=32", "data.validation_sequences=10", "data.test_sequences=2", "data.shortest=4",
           "data.split=12", "data.longest=32", "plan.accumulation=2", "plan.batch_size_per_rank=2",
           "plan.updates=" + std::to_string(kUpdates)});
    }
    return all;
  }
};

TEST_P(OneHash, AfterEveryUpdateForAnyNumberOfProcesses) {
  const Settings all = settings();
  const UpdateLines one = lines_of({{1, kUpdates}}, all);
  ASSERT_EQ(one.size(), kUpdates);
  bool clipped = false;
  std::set<double> rates;
  for (const auto& [update, line] : one) {
    EXPECT_EQ(line.contains("validation"), update % 2 == 0 || update == kUpdates);
    clipped = clipped || line.at("clip_factor").get<double>() < 1.0;
    rates.insert(line.at("learning_rate").get<double>());
  }
  EXPECT_TRUE(clipped) << "the cases must clip, or they show nothing about it";
  EXPECT_GE(rates.size(), 4) << "and the schedule must move";
  for (const std::int64_t processes : {2, 3, 4, 5, 7, 8}) {
    EXPECT_EQ(first_divergence(one, lines_of({{processes, kUpdates}}, all), kUpdates), std::nullopt)
        << processes << " processes";
  }
  Settings recomputed = all;
  recomputed.emplace_back("model.gradient_checkpointing=true");
  for (const std::int64_t processes : {1, 2}) {
    EXPECT_EQ(first_divergence(one, lines_of({{processes, kUpdates}}, recomputed), kUpdates), std::nullopt)
        << processes << " processes that recompute layers";
  }
}

INSTANTIATE_TEST_SUITE_P(Each, OneHash,
                         testing::Combine(testing::Values("lesson", "text"), testing::Values("sgd", "adamw"),
                                          testing::Values("0", "0.1")));

}  // namespace
}  // namespace samegrad
