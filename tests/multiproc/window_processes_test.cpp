// A window of a user's module on real processes: dropout from ATen's default generator, batch normalisation, weights.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "tests/multiproc/forked_ranks.h"

namespace samegrad {
namespace {

constexpr std::int64_t kAtoms = 6;
constexpr std::int64_t kFeatures = 16;

enum class Generator { kKeyed, kCarried };

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

/// Two updates; the bytes of both gradients, N and the running statistics.
std::string train(Communicator& comm, Generator generator) {
  at::manual_seed(9);
  FlatParameters parameters({{"weight", {kFeatures, kFeatures}}});
  for (std::size_t i = 0; i < parameters.values().size(); ++i) {
    parameters.values()[i] = std::sin(static_cast<float>(i) * 0.7F);
  }
  GradientBufferPool pool(parameters.set());
  const at::Tensor mean = at::zeros({kFeatures});
  const at::Tensor variance = at::ones({kFeatures});
  const AtomRange range = rank_ranges(kAtoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  std::vector<double> weights;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    weights.push_back(0.1 + 0.3 * static_cast<double>(atom));
  }
  std::string result;
  for (std::int64_t update = 1; update <= 2; ++update) {
    WindowRequest request{.count = range.size(), .atoms = range.size(), .atom_weights = weights, .update = update};
    if (generator == Generator::kKeyed) request.generator_seed = 9;
    Window window(parameters.set(), pool, comm, request, {{"running_mean", mean}, {"running_var", variance}});
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(1, [&] {
        const at::Tensor steps = at::arange(5 * kFeatures, at::kFloat).reshape({5, kFeatures});
        const at::Tensor rows = at::cos(steps * (0.01 + 0.003 * static_cast<double>(atom)));
        const at::Tensor hidden = at::dropout(at::matmul(rows, parameters.tensors()[0]), 0.5, /*train=*/true);
        return at::batch_norm(hidden, {}, {}, mean, variance, true, 0.1, 1e-5, false).pow(2).mul(rows).sum();
      });
    }
    window.reduce();
    const double total = window.loss().divisor();
    result += bytes_of(parameters.tensors()[0].grad());
    result.append(reinterpret_cast<const char*>(&total), sizeof total);
  }
  return result + bytes_of(mean) + bytes_of(variance);
}

std::vector<std::string> results_of(int world_size, Generator generator) {
  return testing::run_processes(world_size, [=](Communicator& comm) { return train(comm, generator); });
}

TEST(WindowProcesses, GiveTheSameBitsForAnyNumberOfProcessesWithAKeyedGenerator) {
  const std::string alone = results_of(1, Generator::kKeyed).front();
  EXPECT_EQ(alone.size(), 2 * (kFeatures * kFeatures * sizeof(float) + sizeof(double)) + 2 * kFeatures * sizeof(float));
  for (const int world_size : {2, 3, 5, 8}) {
    EXPECT_EQ(results_of(world_size, Generator::kKeyed), std::vector<std::string>(world_size, alone)) << world_size;
  }
}

// The control: the same generator, seeded once and then carried from atom to atom, as torch does by itself.
TEST(WindowProcesses, DifferWithTheNumberOfProcessesWhereTheGeneratorIsCarried) {
  const std::string alone = results_of(1, Generator::kCarried).front();
  EXPECT_EQ(results_of(1, Generator::kCarried).front(), alone) << "not by chance";
  for (const int world_size : {2, 3}) EXPECT_NE(results_of(world_size, Generator::kCarried).front(), alone);
}

}  // namespace
}  // namespace samegrad
