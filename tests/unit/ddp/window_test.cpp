// The window on threads as ranks: same bits for every world size, one exchange, agreement on zeros and failures.
#include "samegrad/ddp/window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/ddp/bucket_exchange.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/objective/scale.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

constexpr std::int64_t kFeatures = 37;
constexpr std::int64_t kOutputs = 5;

// A linear map and a bias; atom a's inputs and number of units depend on a alone. Atom 2 has no units.
struct Toy {
  Toy() : parameters({{"weight", {kOutputs, kFeatures}}, {"bias", {kOutputs}}}), pool(parameters.set()) {
    for (std::size_t i = 0; i < parameters.values().size(); ++i) {
      parameters.values()[i] = std::sin(static_cast<float>(i) * 0.7F) * 0.3F;
    }
  }

  static std::int64_t units(std::int64_t atom) { return atom == 2 ? 0 : 3 + 4 * atom; }

  at::Tensor loss_sum(std::int64_t atom) const {
    const at::Tensor rows = at::arange(units(atom) * kFeatures, at::kFloat).reshape({units(atom), kFeatures});
    const at::Tensor inputs = at::cos(rows * (0.01F + 0.003F * static_cast<float>(atom)));
    return at::addmm(parameters.tensors()[1], inputs, parameters.tensors()[0].t()).pow(2).sum();
  }

  FlatParameters parameters;
  GradientBufferPool pool;
};

// Runs `body` on every rank; a test's body must not throw.
void on_rank_threads(int world_size, const std::function<void(Communicator&)>& body) {
  EXPECT_EQ(testing::run_ranks(world_size, body), testing::nothing_thrown(world_size));
}

struct Outcome {
  std::vector<float> gradient;
  LossSum loss;
  std::map<std::string, int> calls;
  std::int64_t buffers_made = 0;
};

Outcome run_window(Communicator& inner, std::int64_t atoms) {
  Toy toy;
  testing::CountingCommunicator comm(inner);
  const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
  std::int64_t units = 0;
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) units += Toy::units(atom);
  Window window(toy.parameters.set(), toy.pool, comm, {.count = units, .atoms = range.size()});
  EXPECT_EQ(window.decision().action, WindowAction::kTrain);
  for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
    window.backward(Toy::units(atom), [&] { return toy.loss_sum(atom); });
  }
  Outcome outcome;
  EXPECT_TRUE(window.reduce());
  outcome.loss = window.loss();
  outcome.gradient.assign(window.gradient().begin(), window.gradient().end());
  outcome.calls = comm.calls();
  outcome.buffers_made = toy.pool.buffers_made();
  return outcome;
}

std::vector<Outcome> run_windows(int world_size, std::int64_t atoms) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world_size));
  on_rank_threads(world_size, [&](Communicator& comm) {
    outcomes[static_cast<std::size_t>(comm.rank())] = run_window(comm, atoms);
  });
  return outcomes;
}

TEST(Window, GradientAndLossAreTheSameBitsForEveryWorldSize) {
  for (const std::int64_t atoms : {1, 4, 6, 7}) {
    const Outcome alone = run_windows(1, atoms).front();
    for (const int world_size : {2, 3, 5, 8}) {
      for (const Outcome& outcome : run_windows(world_size, atoms)) {
        EXPECT_EQ(outcome.gradient, alone.gradient) << "atoms " << atoms << ", world size " << world_size;
        EXPECT_EQ(outcome.loss.sum, alone.loss.sum);
        EXPECT_EQ(outcome.loss.count, alone.loss.count);
      }
    }
  }
}

TEST(Window, GradientIsThatOfTheMeanOverAllUnits) {
  const Outcome outcome = run_windows(3, 4).front();
  Toy toy;
  at::Tensor total = at::zeros({}, at::kFloat);
  std::int64_t units = 0;
  for (std::int64_t atom = 0; atom < 4; ++atom) {
    if (Toy::units(atom) > 0) total = total + toy.loss_sum(atom);
    units += Toy::units(atom);
  }
  (total / static_cast<double>(units)).backward();
  const at::Tensor weight = toy.parameters.tensors()[0].grad().contiguous();
  for (std::int64_t i = 0; i < weight.numel(); ++i) {
    const float reference = weight.const_data_ptr<float>()[i];
    EXPECT_NEAR(outcome.gradient[static_cast<std::size_t>(i)], reference, 1e-6 + 1e-4 * std::abs(reference));
  }
  EXPECT_EQ(outcome.loss.count, units);
}

TEST(Window, ExchangesTheGradientOnceHoweverManyAtomsARankHas) {
  for (const std::int64_t atoms : {2, 4, 16}) {
    const Outcome outcome = run_windows(2, atoms).front();
    int exchanges = 0;
    for (const auto& [name, calls] : outcome.calls) {
      if (name.starts_with("gradient/")) exchanges = std::max(exchanges, calls);
    }
    EXPECT_EQ(exchanges, 1) << atoms;
    EXPECT_EQ(outcome.calls.at("agreement/all_gather"), 1) << atoms;
  }
}

TEST(Window, HoldsAtMostLogarithmicallyManyGradientBuffers) {
  for (const std::int64_t atoms : {1, 2, 4, 8, 16, 32}) {
    const std::int64_t allowed = static_cast<std::int64_t>(std::log2(atoms)) + 1 + 1;  // one subtree, and the result
    EXPECT_LE(run_windows(1, atoms).front().buffers_made, allowed) << atoms;
  }
}

TEST(Window, LessonsMeanFormEqualsItWithinTheTolerance) {
  constexpr std::int64_t kAtoms = 4;
  const Outcome exact = run_windows(1, kAtoms).front();
  for (const int world_size : {1, 2, 3}) {
    on_rank_threads(world_size, [&](Communicator& comm) {
      Toy toy;
      const AtomRange range = rank_ranges(kAtoms, comm.size())[static_cast<std::size_t>(comm.rank())];
      GradientBuffer buffer(toy.parameters.set());
      for (std::size_t i = 0; i < buffer.tensors.size(); ++i) {
        toy.parameters.tensors()[i].mutable_grad() = buffer.tensors[i];
      }
      const double factor =
          loss_sum_factor(GradientReduction::kMean, comm.size(), static_cast<double>(exact.loss.count));
      for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
        if (Toy::units(atom) > 0) (toy.loss_sum(atom) * factor).backward();
      }
      at::Tensor flat = at::from_blob(buffer.values().data(), {std::ssize(buffer.values())});
      exchange_gradient(comm, flat, {.reduction = GradientReduction::kMean}, {"mean", 1});
      for (std::size_t i = 0; i < exact.gradient.size(); ++i) {
        ASSERT_NEAR(buffer.values()[i], exact.gradient[i], 1e-6 + 1e-4 * std::abs(exact.gradient[i]));
      }
    });
  }
}

TEST(Window, WithoutUnitsOnAnyRankIsRefusedByAllInOneLine) {
  std::vector<std::string> lines(3);
  on_rank_threads(3, [&](Communicator& comm) {
    Toy toy;
    try {
      const Window window(toy.parameters.set(), toy.pool, comm, {.atoms = 1, .update = 7});
    } catch (const EmptyWindowError& error) {
      lines[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  EXPECT_NE(lines[0].find("update 7"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("0 supervised tokens in all ranks"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_EQ(lines[0], lines[2]);
}

TEST(Window, FailureOfOneRanksForwardReachesEveryRank) {
  std::vector<std::string> lines(2);
  on_rank_threads(2, [&](Communicator& comm) {
    Toy toy;
    Window window(toy.parameters.set(), toy.pool, comm, {.count = 3, .atoms = 1, .update = 3});
    window.backward(3, [&]() -> at::Tensor {
      if (comm.rank() == 1) throw std::runtime_error("out of ideas");
      return toy.loss_sum(0);
    });
    try {
      window.reduce();
    } catch (const RunError& error) {
      lines[static_cast<std::size_t>(comm.rank())] = error.what();
    }
  });
  EXPECT_NE(lines[0].find("rank 1, update 3, atom 1: out of ideas"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0], lines[1]);
}

TEST(Window, LeftByOneRankEndsTheOthersWithItsStory) {
  std::string line;
  on_rank_threads(2, [&](Communicator& comm) {
    Toy toy;
    Window window(toy.parameters.set(), toy.pool, comm, {.count = 3, .atoms = 1, .update = 3});
    if (comm.rank() == 1) return;  // an exception between two atoms would do the same
    window.backward(3, [&] { return toy.loss_sum(0); });
    try {
      window.reduce();
    } catch (const RunError& error) {
      line = error.what();
    }
  });
  EXPECT_NE(line.find("left the window"), std::string::npos) << line;
}

}  // namespace
}  // namespace samegrad
