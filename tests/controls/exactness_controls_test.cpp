// What docs/exactness.md rules out, done on purpose: each gives a gradient whose bits depend on the number of
// processes or threads, and the right way beside it does not.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "samegrad/objective/scale.h"
#include "samegrad/train/padded_model.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/model/model_cases.h"

namespace samegrad {
namespace {

using Gradient = std::vector<float>;

ModelConfig lesson_model() {
  ModelConfig config = encoder_config(128);
  config.positions = 128;
  return config;
}

Gradient flattened(const std::vector<at::Tensor>& gradients) {
  Gradient flat;
  for (const at::Tensor& gradient : gradients) {
    const at::Tensor values = gradient.contiguous();
    flat.insert(flat.end(), values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel());
  }
  return flat;
}

/// Largest difference, relative to the largest component of `b`.
double difference(const Gradient& a, const Gradient& b) {
  double most = 0.0;
  double scale = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    scale = std::max(scale, std::abs(static_cast<double>(b[i])));
  }
  return most / scale;
}

/// grad S of `samples` in one batch padded to `length`.
Gradient padded_gradient(const std::vector<Sample>& samples, std::size_t length) {
  const ModelConfig config = lesson_model();
  const auto model = make_padded_encoder(config, random_parameters(config, at::kFloat), at::kFloat);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(length)};
  const at::Tensor ids = at::zeros(shape, at::kLong);
  const at::Tensor padding = at::ones(shape, at::kBool);
  const at::Tensor targets = at::full(shape, kIgnoreTarget, at::kLong);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t t = 0; t < samples[s].inputs.size(); ++t) {
      ids.mutable_data_ptr<std::int64_t>()[s * length + t] = samples[s].inputs[t];
      padding.mutable_data_ptr<bool>()[s * length + t] = false;
      targets.mutable_data_ptr<std::int64_t>()[s * length + t] = samples[s].targets[t];
    }
  }
  const at::Tensor logits = model->logits(ids, padding).flatten(0, 1);
  return flattened(gradients_of(
      at::cross_entropy_loss(logits, targets.flatten(), {}, at::Reduction::Sum, kIgnoreTarget), model->parameters()));
}

std::size_t longest_of(std::span<const std::vector<Sample>> atoms) {
  std::size_t longest = 0;
  for (const std::vector<Sample>& atom : atoms) {
    for (const Sample& sample : atom) longest = std::max(longest, sample.inputs.size());
  }
  return longest;
}

// Four atoms; a rank that pads its own atoms to the longest of them makes other shapes when it has other atoms.
TEST(ExactnessControls, APaddedShapeThatDependsOnTheNumberOfRanksChangesAnAtomsGradient) {
  const std::vector<std::vector<Sample>> atoms{
      random_samples(lesson_model(), {9, 17, 12}, 1), random_samples(lesson_model(), {21, 6, 30}, 2),
      random_samples(lesson_model(), {55, 40, 8}, 3), random_samples(lesson_model(), {70, 64, 33}, 4)};
  const auto padded_by_rank = [&](int world_size) {
    const AtomRange of_rank_0 = rank_ranges(4, world_size)[0];
    return padded_gradient(atoms[0], longest_of(std::span(atoms).first(static_cast<std::size_t>(of_rank_0.end))));
  };
  const Gradient alone = padded_by_rank(1);
  for (const int world_size : {2, 4}) {
    EXPECT_NE(padded_by_rank(world_size), alone) << world_size << " ranks";
    EXPECT_LT(difference(padded_by_rank(world_size), alone), 1e-5) << "only the rounding may differ";
  }
  const auto padded_by_atom = [&] { return padded_gradient(atoms[0], longest_of(std::span(atoms).first(1))); };
  EXPECT_EQ(padded_by_atom(), padded_by_atom());
}

// Of libtorch's operations, which any module may use; samegrad's own do not share their work out.
TEST(ExactnessControls, TwoThreadsInsteadOfOneChangeTheGradient) {
  const std::vector<Sample> samples = random_samples(lesson_model(), {100, 90, 128, 77, 128, 110, 65, 93});
  const auto gradient = [&](int threads) {
    at::set_num_threads(threads);
    return padded_gradient(samples, 128);
  };
  const Gradient one = gradient(1);
  const Gradient two = gradient(2);
  EXPECT_EQ(gradient(1), one);
  EXPECT_NE(two, one);
  EXPECT_LT(difference(two, one), 1e-5) << "only the rounding may differ";
}

/// A linear map whose atom a has a + 1 units.
Gradient gradient_of_rank_0(int world_size, bool divided_by_world_size) {
  constexpr std::int64_t kAtoms = 6;
  Gradient result;
  const auto errors = testing::run_ranks(world_size, [&](Communicator& comm) {
    FlatParameters parameters({{"weight", {5, 40}}});
    for (std::size_t i = 0; i < parameters.values().size(); ++i) {
      parameters.values()[i] = static_cast<float>(test_noise(3, 0, static_cast<std::uint32_t>(i)));
    }
    const AtomRange range = rank_ranges(kAtoms, comm.size())[static_cast<std::size_t>(comm.rank())];
    const auto loss_sum = [&](std::int64_t atom) {
      const at::Tensor steps = at::arange((atom + 1) * 40, at::kFloat).reshape({atom + 1, 40});
      return at::matmul(at::cos(steps * 0.37), parameters.tensors()[0].t()).pow(2).sum();
    };
    GradientBufferPool pool(parameters.set());
    if (divided_by_world_size) {
      const auto buffer = pool.take_zeroed();
      parameters.tensors()[0].mutable_grad() = buffer->tensors[0];
      const double factor =
          loss_sum_factor(GradientReduction::kMean, comm.size(), static_cast<double>(kAtoms * (kAtoms + 1) / 2));
      for (std::int64_t atom = range.begin; atom < range.end; ++atom) (loss_sum(atom) * factor).backward();
      at::Tensor flat = at::from_blob(buffer->values().data(), {std::ssize(buffer->values())});
      exchange_gradient(comm, flat, {.reduction = GradientReduction::kMean}, {"mean", 1});
      if (comm.rank() == 0) result.assign(buffer->values().begin(), buffer->values().end());
      return;
    }
    std::int64_t units = 0;
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) units += atom + 1;
    Window window(parameters.set(), pool, comm, {.count = units, .atoms = range.size()});
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(atom + 1, [&] { return loss_sum(atom); });
    }
    window.reduce();
    if (comm.rank() == 0) result.assign(window.gradient().begin(), window.gradient().end());
  });
  EXPECT_EQ(errors, testing::nothing_thrown(world_size));
  return result;
}

// W * S_r / N and the mean over ranks, as the lesson writes it for DDP: right within rounding, but W is in its bits.
TEST(ExactnessControls, TheNumberOfRanksInsideTheDivisionShowsInTheBits) {
  const Gradient exact = gradient_of_rank_0(1, false);
  for (const int world_size : {2, 3, 5}) {
    EXPECT_EQ(gradient_of_rank_0(world_size, false), exact) << world_size << " ranks";
    EXPECT_NE(gradient_of_rank_0(world_size, true), exact) << world_size << " ranks";
    EXPECT_LT(difference(gradient_of_rank_0(world_size, true), exact), 1e-5);
  }
  EXPECT_NE(gradient_of_rank_0(3, true), gradient_of_rank_0(2, true));
}

}  // namespace
}  // namespace samegrad
