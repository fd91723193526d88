#include "samegrad/train/measure_cost.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>

#include "samegrad/model/model.h"
#include "samegrad/train/atom_gradient.h"
#include "samegrad/train/train_state.h"

namespace samegrad {

namespace {

constexpr int kLeastRounds = 3;
constexpr int kMostRounds = 40;
constexpr double kEnough = 5.0;

/// Of this process, so that others on the machine are not counted.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Equal samples whose tokens run through the vocabulary, every target supervised.
PackedBatch batch_of(const ModelConfig& model, std::int64_t samples, std::int64_t tokens) {
  const std::int64_t choices = model.kind == "decoder" ? model.vocabulary : model.classes;
  std::vector<Sample> all(static_cast<std::size_t>(samples));
  for (Sample& sample : all) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      sample.inputs.push_back(static_cast<std::int32_t>(t % model.vocabulary));
      sample.targets.push_back(static_cast<std::int32_t>(t % choices));
    }
  }
  return pack(all);
}

}  // namespace

std::vector<std::int64_t> lengths_to_measure(std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t part : {16, 8, 4, 2, 1}) {
    if (longest / part >= 1) lengths.push_back(longest / part);
  }
  return lengths;
}

std::vector<MeasuredCost> measure_cost(const RunConfig& config, std::int64_t longest) {
  constexpr std::int64_t kLongestSamples = 4;
  const TrainState state = initial_state(config);
  const std::unique_ptr<Model> model = make_model(config.model, state.parameters.tensors());
  GradientBuffer gradient(state.parameters.set());
  std::vector<MeasuredCost> measured;
  std::vector<PackedBatch> batches;
  for (const std::int64_t tokens : lengths_to_measure(longest)) {
    measured.push_back({.tokens = tokens, .seconds = std::numeric_limits<double>::infinity()});
    batches.push_back(batch_of(config.model, kLongestSamples * (longest / tokens), tokens));
  }
  const double start = processor_seconds();
  for (int round = 0; round <= kLeastRounds || (round <= kMostRounds && processor_seconds() - start < kEnough);
       ++round) {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const double before = processor_seconds();
      atom_gradient(
          state.parameters,
          [&] { return model->loss_sum(batches[i], DropoutKey{.seed = static_cast<std::uint64_t>(config.seed)}); },
          gradient);
      const double took = (processor_seconds() - before) / static_cast<double>(batches[i].samples());
      if (round > 0) measured[i].seconds = std::min(measured[i].seconds, took);
    }
  }
  return measured;
}

}  // namespace samegrad
