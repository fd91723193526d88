// Batch normalisation under a Window: statistics and counters are those of a sequential computation, whatever W.
#include "samegrad/ddp/window_buffers.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/plan/literal_tree.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFeatures = 13;
constexpr std::array<int, 7> kWorldSizes{1, 2, 3, 4, 5, 7, 8};

/// A linear map, batch normalisation as torch.nn.BatchNorm1d, and three buffers more: a float64 one, one that nothing
/// changes, and one of a type that cannot be combined.
struct Module {
  Module()
      : parameters({{"weight", {kFeatures, kFeatures}}, {"scale", {kFeatures}}, {"shift", {kFeatures}}}),
        pool(parameters.set()) {
    for (std::size_t i = 0; i < parameters.values().size(); ++i) {
      parameters.values()[i] = std::sin(static_cast<float>(i) * 0.7F) * 0.3F;
    }
  }

  std::vector<NamedTensor> buffers() const {
    return {{"running_mean", mean}, {"running_var", variance}, {"num_batches_tracked", batches},
            {"largest", largest},   {"constant", constant},    {"half", half}};
  }

  /// Atom 2 has no units, nor have those from 8 on.
  static std::int64_t units(std::int64_t atom) { return atom == 2 || atom >= 8 ? 0 : 3 + 2 * atom; }

  at::Tensor loss_sum(std::int64_t atom) const {
    const at::Tensor steps = at::arange(units(atom) * kFeatures, at::kFloat).reshape({units(atom), kFeatures});
    const at::Tensor rows = at::cos(steps * (0.01 + 0.003 * static_cast<double>(atom)));
    const at::Tensor hidden = at::matmul(rows, parameters.tensors()[0]);
    const at::Tensor normal = at::batch_norm(hidden, parameters.tensors()[1], parameters.tensors()[2], mean, variance,
                                             /*training=*/true, /*momentum=*/0.1, /*eps=*/1e-5, /*cudnn=*/false);
    batches.add_(1);
    largest.copy_(0.9 * largest + 0.1 * hidden.detach().to(at::kDouble).amax(0));
    return (normal * rows).pow(2).sum();
  }

  FlatParameters parameters;
  GradientBufferPool pool;
  at::Tensor mean = at::arange(kFeatures, at::kFloat) * 0.1;
  at::Tensor variance = at::ones({kFeatures}, at::kFloat);
  at::Tensor batches = at::full({}, 40, at::kLong);
  at::Tensor largest = at::arange(kFeatures, at::kDouble) / 3.0;
  at::Tensor constant = at::full({5}, 0.9, at::kFloat);  // (x + x + x) / 3 is not x here
  at::Tensor half = at::ones({2}, at::kHalf);
};

std::string hash_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.contiguous();
  return xxh3_128_hex({static_cast<const char*>(values.const_data_ptr()), values.nbytes()});
}

/// Of every buffer.
std::vector<std::string> hashes_of(const Module& module) {
  std::vector<std::string> hashes;
  for (const NamedTensor& buffer : module.buffers()) hashes.push_back(hash_of(buffer.tensor));
  return hashes;
}

using Forward = std::function<at::Tensor(const Module&, Communicator&, std::int64_t atom)>;

at::Tensor plain_forward(const Module& module, Communicator&, std::int64_t atom) { return module.loss_sum(atom); }

/// One window on this rank; returns the error's line, or "".
std::string run_window(Communicator& comm, Module& module, std::int64_t atoms, const Forward& forward = plain_forward) {
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  std::int64_t units = 0;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) units += Module::units(atom);
  try {
    Window window(module.parameters.set(), module.pool, comm, {.count = units, .atoms = range.size(), .update = 4},
                  module.buffers());
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(Module::units(atom), [&] { return forward(module, comm, atom); });
    }
    window.reduce();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void on_ranks(int world_size, const std::function<void(Communicator&)>& body) {
  EXPECT_EQ(testing::run_ranks(world_size, body), testing::nothing_thrown(world_size));
}

template <typename Element>
std::vector<Element> values_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.contiguous();
  return {values.const_data_ptr<Element>(), values.const_data_ptr<Element>() + values.numel()};
}

/// What the rule says, atom by atom in one place, with nothing of samegrad's: T(0, A) / A.
template <typename Element>
std::string sequential_mean(std::int64_t atoms, at::Tensor Module::*buffer) {
  std::vector<std::vector<Element>> after;
  for (std::int64_t atom = 0; atom < atoms; ++atom) {
    Module module;  // every atom from the start
    if (Module::units(atom) > 0) module.loss_sum(atom);
    after.push_back(values_of<Element>(module.*buffer));
  }
  std::vector<Element> mean = testing::literal_tree(after, 0, after.size());
  for (Element& value : mean) value = static_cast<Element>(static_cast<double>(value) / static_cast<double>(atoms));
  return xxh3_128_hex({reinterpret_cast<const char*>(mean.data()), mean.size() * sizeof(Element)});
}

TEST(WindowBuffers, AreTheTreesMeanOfTheAtomsForEveryNumberOfRanks) {
  for (const std::int64_t atoms : {1, 3, 6, 8, 15}) {
    const std::string mean = sequential_mean<float>(atoms, &Module::mean);
    const std::string variance = sequential_mean<float>(atoms, &Module::variance);
    const std::string largest = sequential_mean<double>(atoms, &Module::largest);
    for (const int world_size : kWorldSizes) {
      on_ranks(world_size, [&](Communicator& comm) {
        Module module;
        EXPECT_EQ(run_window(comm, module, atoms), "");
        const std::vector<std::string> hashes = hashes_of(module);
        EXPECT_EQ(hashes[0], mean) << atoms << " atoms, " << world_size << " ranks";
        EXPECT_EQ(hashes[1], variance) << atoms << " atoms, " << world_size << " ranks";
        EXPECT_EQ(hashes[3], largest) << atoms << " atoms, " << world_size << " ranks";
      });
    }
  }
}

TEST(WindowBuffers, StayEqualOverManyWindowsAndSoDoesTheGradient) {
  std::vector<std::string> alone;
  for (const int world_size : kWorldSizes) {
    on_ranks(world_size, [&](Communicator& comm) {
      Module module;
      for (int window = 0; window < 4; ++window) EXPECT_EQ(run_window(comm, module, 7), "");
      std::vector<std::string> hashes = hashes_of(module);
      hashes.push_back(hash_of(module.parameters.tensors()[0].grad()));
      if (world_size == 1) alone = hashes;
      EXPECT_EQ(hashes, alone) << world_size << " ranks";
    });
  }
}

TEST(WindowBuffers, CountersAddTheChangesOfAllAtomsThatRan) {
  for (const int world_size : kWorldSizes) {
    on_ranks(world_size, [&](Communicator& comm) {
      Module module;
      EXPECT_EQ(run_window(comm, module, 6), "");
      EXPECT_EQ(module.batches.item<std::int64_t>(), 40 + 5) << "atom 2 of 6 has no units";
    });
  }
}

TEST(WindowBuffers, ThatNoAtomChangesKeepTheirBits) {
  const std::string before = hashes_of(Module())[4];
  on_ranks(3, [&](Communicator& comm) {
    Module module;
    EXPECT_EQ(run_window(comm, module, 3), "");
    EXPECT_EQ(hashes_of(module)[4], before);
  });
  const float sum = 0.9F + 0.9F + 0.9F;
  EXPECT_NE(sum / 3.0F, 0.9F) << "the value must show the difference";
}

TEST(WindowBuffers, EveryAtomStartsFromTheWindowsStart) {
  on_ranks(2, [&](Communicator& comm) {
    Module module;
    const std::vector<std::string> start = hashes_of(module);
    EXPECT_EQ(run_window(comm, module, 8,
                         [&](const Module& m, Communicator&, std::int64_t atom) {
                           EXPECT_EQ(hashes_of(m), start) << "atom " << atom;
                           return m.loss_sum(atom);
                         }),
              "");
    EXPECT_NE(hashes_of(module), start);
  });
}

// The controls: what running statistics become without the rule.
TEST(WindowBuffers, DifferFromStatisticsCarriedFromAtomToAtomAndFromAMeanOfRankSums) {
  constexpr std::int64_t kAtoms = 8;
  const std::string exact = sequential_mean<float>(kAtoms, &Module::variance);
  Module carried;
  std::vector<std::vector<float>> after;
  for (std::int64_t atom = 0; atom < kAtoms; ++atom) {
    Module fresh;
    if (Module::units(atom) == 0) {
      after.push_back(values_of<float>(fresh.variance));
      continue;
    }
    fresh.loss_sum(atom);
    carried.loss_sum(atom);
    after.push_back(values_of<float>(fresh.variance));
  }
  EXPECT_NE(hashes_of(carried)[1], exact);
  std::vector<float> of_ranks(kFeatures, 0.0F);
  for (const AtomRange& range : rank_ranges(kAtoms, 3)) {
    std::vector<float> partial(kFeatures, 0.0F);
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      for (std::size_t k = 0; k < partial.size(); ++k) partial[k] += after[static_cast<std::size_t>(atom)][k];
    }
    for (std::size_t k = 0; k < partial.size(); ++k) of_ranks[k] += partial[k];
  }
  for (float& value : of_ranks) value /= static_cast<float>(kAtoms);
  EXPECT_NE(xxh3_128_hex({reinterpret_cast<const char*>(of_ranks.data()), of_ranks.size() * sizeof(float)}), exact);
}

TEST(WindowBuffers, OfATypeThatCannotBeCombinedAreRefusedByAllRanksWithNothingChanged) {
  std::vector<std::string> lines(3);
  on_ranks(3, [&](Communicator& comm) {
    Module module;
    const std::vector<std::string> start = hashes_of(module);
    lines[static_cast<std::size_t>(comm.rank())] =
        run_window(comm, module, 3, [](const Module& m, Communicator& rank, std::int64_t atom) {
          if (rank.rank() == 1) m.half.add_(1);
          return m.loss_sum(atom);
        });
    EXPECT_EQ(hashes_of(module), start);
  });
  EXPECT_NE(lines[0].find("update 4: forward changed buffer half of type Half"), std::string::npos) << lines[0];
  EXPECT_EQ(lines, std::vector<std::string>(3, lines[0]));
}

TEST(WindowBuffers, ThatDifferBetweenRanksAtTheStartAreRefusedByAllRanks) {
  std::vector<std::string> lines(3);
  on_ranks(3, [&](Communicator& comm) {
    Module module;
    if (comm.rank() == 2) module.mean[5] += 1e-6;
    lines[static_cast<std::size_t>(comm.rank())] = run_window(comm, module, 3);
  });
  EXPECT_NE(lines[0].find("ranks differ in the buffers at the window's start"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("rank 2 has"), std::string::npos) << lines[0];
  EXPECT_EQ(lines, std::vector<std::string>(3, lines[0]));
}

TEST(WindowBuffers, AreAsAtTheStartAfterAForwardThatFailed) {
  on_ranks(2, [&](Communicator& comm) {
    Module module;
    const std::vector<std::string> start = hashes_of(module);
    const std::string line =
        run_window(comm, module, 4, [](const Module& m, Communicator& rank, std::int64_t atom) -> at::Tensor {
          at::Tensor loss = m.loss_sum(atom);
          if (rank.rank() == 0) throw std::runtime_error("out of ideas");
          return loss;
        });
    EXPECT_NE(line.find("out of ideas"), std::string::npos) << line;
    EXPECT_EQ(hashes_of(module), start);
  });
}

}  // namespace
}  // namespace samegrad
