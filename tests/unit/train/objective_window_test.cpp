// Objectives through a window: what weighs what on any number of ranks, against the independent path, and what happens
// where nothing weighs anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "samegrad/model/parameter_spec.h"
#include "samegrad/train/evaluate.h"
#include "samegrad/train/reference.h"
#include "samegrad/train/trainer.h"
#include "samegrad/train/weighed_batch.h"
#include "samegrad/train/window_batches.h"
#include "samegrad/train/window_gradient.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {
namespace {

class Samples final : public SampleSource {
 public:
  Samples(std::vector<Sample> samples, bool weighted) : samples_(std::move(samples)), weighted_(weighted) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  Sample sample(std::int64_t id) const override { return samples_.at(static_cast<std::size_t>(id)); }
  std::int64_t supervised_tokens(std::int64_t id) const override { return sample(id).supervised_tokens(); }
  std::int64_t input_tokens(std::int64_t id) const override {
    return static_cast<std::int64_t>(sample(id).inputs.size());
  }
  bool weighted() const override { return weighted_; }
  double weight(std::int64_t id) const override { return sample(id).weight; }
  std::uint64_t document(std::int64_t id) const override { return sample(id).document; }

 private:
  std::vector<Sample> samples_;
  bool weighted_;
};

RunConfig small_config(const std::string& unit) {
  RunConfig config;
  config.data.task = "text";
  config.model = decoder_config(/*width=*/16);
  config.model.layers = 1;
  config.plan = {.updates = 2, .virtual_ranks = 3, .accumulation = 1, .batch_size_per_rank = 2};
  config.objective.unit = unit;
  if (unit == "constant") config.objective.constant = 77;
  return config;
}

/// Six samples in three atoms; all but one are of one document of weight 0.75, and one has no supervised token.
Samples samples_of(const RunConfig& config, bool weighted) {
  std::vector<Sample> samples = random_samples(config.model, {9, 4, 17, 6, 12, 5});
  for (Sample& sample : samples) {
    sample.document = sample.id == 3 ? 0 : 9;
    if (weighted) sample.weight = sample.id == 3 ? 2.5 : 0.75;
  }
  std::ranges::fill(samples[1].targets, kIgnoreTarget);
  return {std::move(samples), weighted};
}

FlatParameters parameters_of(const RunConfig& config) {
  FlatParameters parameters(named_shapes(parameter_specs(config.model)), ElementType::kFloat64);
  const std::vector<at::Tensor> values = random_parameters(config.model, at::kDouble);
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < values.size(); ++i) at::Tensor(parameters.tensors()[i]).copy_(values[i]);
  return parameters;
}

/// The window's gradient on `ranks` ranks, which is the same on each.
std::pair<std::vector<double>, LossSum> gradient_on(int ranks, const RunConfig& config, const Samples& source) {
  std::mutex mutex;
  std::vector<std::vector<double>> gradients;
  LossSum loss;
  const auto errors = testing::run_ranks(ranks, [&](Communicator& comm) {
    FlatParameters parameters = parameters_of(config);
    const PlanWindow window = make_update_plan(config, source)->window(1);
    const WindowGradient result = window_gradient(config, source, window, "same", comm, parameters);
    const std::lock_guard lock(mutex);
    const auto values = result.gradient.span<double>();
    gradients.emplace_back(values.begin(), values.end());
    loss = result.loss;
  });
  EXPECT_EQ(errors, testing::nothing_thrown(ranks));
  EXPECT_EQ(gradients.size(), static_cast<std::size_t>(ranks));
  for (const auto& other : gradients) EXPECT_EQ(other, gradients.front());
  return {gradients.empty() ? std::vector<double>{} : gradients.front(), loss};
}

/// The largest difference from the independent path's gradient under `objective`.
double largest_difference(const RunConfig& config, const ObjectiveConfig& objective, const Samples& source,
                          const std::vector<double>& gradient) {
  const FlatParameters parameters = parameters_of(config);
  const PlanWindow window = make_update_plan(config, source)->window(1);
  const ReferenceResult reference =
      reference_gradient(config.model, objective, parameters.tensors(), at::kDouble, window_samples(window, source));
  double largest = 0.0;
  for (std::size_t i = 0; i < reference.gradients.size(); ++i) {
    const ParameterPlace& place = parameters.layout().places()[i];
    for (std::int64_t e = 0; e < place.elements; ++e) {
      largest = std::max(largest, std::abs(gradient[static_cast<std::size_t>(place.offset + e)] -
                                           reference.gradients[i].const_data_ptr<double>()[e]));
    }
  }
  return largest;
}

struct Case {
  const char* unit;
  bool weighted;
  bool class_weights;
  LossSum expected;  ///< of N alone
  bool terms = false;
};

std::string name_of(const Case& c) {
  return c.unit + std::string(c.weighted ? "_weighted" : "") + (c.class_weights ? "_class_weights" : "") +
         (c.terms ? "_terms" : "");
}

// GoogleTest names a case by this.
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }  // NOLINT(readability-identifier-naming)

class EveryObjective : public ::testing::TestWithParam<Case> {};

TEST_P(EveryObjective, IsTheIndependentPathsOnAnyNumberOfRanksAndNoOther) {
  const Case& c = GetParam();
  RunConfig config = small_config(c.unit);
  if (c.class_weights) {
    for (std::int64_t i = 0; i < config.model.vocabulary; ++i) {
      config.objective.class_weights.push_back(0.5 * static_cast<double>(i % 4));
    }
  }
  if (c.terms) {
    config.objective.z_loss = 0.125;
    config.objective.l2 = 0.25;
  }
  const Samples source = samples_of(config, c.weighted);
  const auto [gradient, loss] = gradient_on(1, config, source);
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(gradient_on(ranks, config, source).first, gradient) << ranks;
  EXPECT_EQ(loss.weight.has_value(), c.unit != std::string("constant") && (c.weighted || c.class_weights));
  if (!c.class_weights) {
    EXPECT_DOUBLE_EQ(loss.divisor(), c.expected.divisor());
  }
  EXPECT_LT(largest_difference(config, config.objective, source, gradient), 1e-13);
  if (config.objective.unit != "token" || c.class_weights || c.terms) {
    EXPECT_GT(largest_difference(config, ObjectiveConfig{}, source, gradient), 1e-4) << "the control";
  }
}

// Balanced, the document of five samples lies in all three atoms.
TEST_P(EveryObjective, IsTheSameWhereABalancedPlanCutsItsUnitsElsewhere) {
  const Case& c = GetParam();
  RunConfig config = small_config(c.unit);
  const Samples source = samples_of(config, c.weighted);
  const auto drawn_atoms = make_update_plan(config, source)->window(1).atoms;
  const LossSum drawn = gradient_on(1, config, source).second;
  config.plan.balance = "lpt";
  ASSERT_NE(make_update_plan(config, source)->window(1).atoms, drawn_atoms);
  const auto [gradient, loss] = gradient_on(1, config, source);
  for (const int ranks : {2, 3}) EXPECT_EQ(gradient_on(ranks, config, source).first, gradient) << ranks;
  EXPECT_EQ(loss.count, drawn.count);
  EXPECT_DOUBLE_EQ(loss.divisor(), drawn.divisor());
  EXPECT_LT(largest_difference(config, config.objective, source, gradient), 1e-13);
}

// 30 supervised tokens in 5 sequences, of 2 documents: counted by hand from random_samples().
INSTANTIATE_TEST_SUITE_P(
    Units, EveryObjective,
    ::testing::Values(Case{"token", false, false, {0, 30}}, Case{"sequence", false, false, {0, 5}},
                      Case{"document", false, false, {0, 2}}, Case{"constant", false, false, {0, 77}},
                      Case{"token", true, false, {0, 0, 29 * 0.75 + 2.5}},
                      Case{"sequence", true, false, {0, 0, 4 * 0.75 + 2.5}},
                      Case{"document", true, false, {0, 0, 0.75 + 2.5}}, Case{"constant", true, false, {0, 77}},
                      Case{"token", false, true, {}}, Case{"token", true, true, {}}, Case{"constant", true, true, {}},
                      Case{"token", false, false, {0, 30}, true},
                      Case{"document", true, false, {0, 0, 0.75 + 2.5}, true}, Case{"constant", false, true, {}, true}),
    [](const auto& c) { return name_of(c.param); });

/// What two updates make of a window in which nothing weighs anything, on 2 ranks.
std::vector<std::string> update_of_nothing(RunConfig config, const Samples& source) {
  return testing::run_ranks(2, [&](Communicator& comm) {
    Trainer trainer(config, std::make_shared<Samples>(source), make_update_plan(config, source), comm, "same",
                    initial_state(config));
    const std::string before = trainer.state().hash_chain;
    const UpdateResult result = trainer.train_update();
    EXPECT_EQ(result.action, WindowAction::kSkip);
    EXPECT_FALSE(result.stepped);
    EXPECT_EQ(trainer.state().optimizer->steps(), 0);
    EXPECT_EQ(trainer.state().skipped_windows, 1);
  });
}

TEST(ObjectiveOfNothing, IsAnErrorOnAllRanksOrSkippedByAll) {
  for (const char* unit : {"token", "sequence", "document", "constant"}) {
    RunConfig config = small_config(unit);
    std::vector<Sample> samples = random_samples(config.model, {9, 4, 17, 6, 12, 5});
    for (Sample& sample : samples) std::ranges::fill(sample.targets, kIgnoreTarget);
    const Samples source(samples, false);
    for (const std::string& error : update_of_nothing(config, source)) {
      EXPECT_NE(error.find("0 supervised"), std::string::npos) << unit << ": " << error;
    }
    config.objective.empty_window = "skip";
    EXPECT_EQ(update_of_nothing(config, source), testing::nothing_thrown(2)) << unit;
  }
}

TEST(ObjectiveOfNothing, IsAlsoAWindowOfWeightsThatAreAllZero) {
  for (const char* unit : {"token", "sequence", "document", "constant"}) {
    RunConfig config = small_config(unit);
    std::vector<Sample> samples = random_samples(config.model, {9, 4, 17, 6, 12, 5});
    for (Sample& sample : samples) sample.weight = 0.0;
    const Samples source(samples, true);
    for (const std::string& error : update_of_nothing(config, source)) {
      const char* const said = config.objective.constant > 0 ? "0 supervised" : "weight 0 in all ranks";
      EXPECT_NE(error.find(said), std::string::npos) << unit << ": " << error;
    }
    config.objective.empty_window = "skip";
    EXPECT_EQ(update_of_nothing(config, source), testing::nothing_thrown(2)) << unit;
  }
}

TEST(ObjectiveOfNothing, IsDecidedByTheUnitsWhateverOtherTermsHave) {
  RunConfig config = small_config("sequence");
  config.objective.z_loss = 0.5;
  config.objective.l2 = 0.5;
  std::vector<Sample> samples = random_samples(config.model, {9, 4, 17, 6, 12, 5});
  for (Sample& sample : samples) std::ranges::fill(sample.targets, kIgnoreTarget);
  const Samples source(samples, false);
  for (const std::string& error : update_of_nothing(config, source)) {
    EXPECT_NE(error.find("[agreement] window of update 1"), std::string::npos) << error;
  }
  config.objective.empty_window = "skip";
  EXPECT_EQ(update_of_nothing(config, source), testing::nothing_thrown(2));
}

TEST(ObjectiveOfNothing, RowsOfOneDocumentWithTwoWeightsAreRefusedByAllRanks) {
  const RunConfig config = small_config("document");
  std::vector<Sample> samples = random_samples(config.model, {9, 4, 17, 6, 12, 5});
  for (Sample& sample : samples) sample.document = 5, sample.weight = 1.0 + static_cast<double>(sample.id);
  const Samples source(samples, true);
  const auto errors = testing::run_ranks(3, [&](Communicator& comm) {
    Trainer(config, std::make_shared<Samples>(source), make_update_plan(config, source), comm, "same",
            initial_state(config))
        .train_update();
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error, errors.front());
    EXPECT_NE(error.find("[objective] rows of one document have weights"), std::string::npos) << error;
  }
}

TEST(EvaluatedObjective, HasTheSameBitsOnAnyNumberOfRanks) {
  for (const char* unit : {"token", "sequence", "document", "constant"}) {
    const RunConfig config = small_config(unit);
    const Samples source = samples_of(config, /*weighted=*/true);
    const Objective objective = evaluation_objective(config, source);
    const auto model = make_model(config.model, random_parameters(config.model, at::kDouble));
    std::vector<LossSum> losses;
    std::mutex mutex;
    for (const int ranks : {1, 2, 3}) {
      EXPECT_EQ(testing::run_ranks(ranks,
                                   [&](Communicator& comm) {
                                     const Evaluation result =
                                         evaluate(*model, source, objective, 2, comm, std::chrono::minutes(1));
                                     const std::lock_guard lock(mutex);
                                     losses.push_back(result.loss);
                                     EXPECT_EQ(result.token_loss.count, 30);
                                     EXPECT_FALSE(result.token_loss.weight);
                                   }),
                testing::nothing_thrown(ranks));
    }
    for (const LossSum& loss : losses) {
      EXPECT_EQ(loss.sum, losses.front().sum) << unit;
      EXPECT_EQ(loss.weight, losses.front().weight) << unit;
    }
    EXPECT_TRUE(losses.front().weight.has_value());
  }
}

}  // namespace
}  // namespace samegrad
