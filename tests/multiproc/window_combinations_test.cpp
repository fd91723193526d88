// Windows in real processes with what is usually met alone: loss terms, unused parameters, recomputed parts with
// dropout. The same gradients, whatever the number of processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/dropout.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/recompute.h"
#include "samegrad/ddp/tensor_bytes.h"
#include "tests/multiproc/forked_ranks.h"
#include "tests/unit/ddp/deep_model.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

using Body = std::function<std::string(const World&)>;

std::vector<std::string> in_processes(int world_size, const Body& body) {
  return run_processes(world_size, [&](Communicator& comm) {
    if (comm.size() != world_size) throw RunError("test", "world size");
    try {
      return body(World(comm, std::chrono::minutes(1)));
    } catch (const Error& error) {
      return std::string(error.what());
    }
  });
}

/// What one process gives, where two, three and five give the same.
std::string same_for_all(const Body& body) {
  const std::string alone = in_processes(1, body).at(0);
  for (const int world_size : {2, 3, 5}) {
    EXPECT_THAT(in_processes(world_size, body), Each(alone)) << world_size << " processes";
  }
  return alone;
}

/// "-" for an undefined gradient.
std::string gradients_of(const torch::nn::Module& model) {
  std::string hashes;
  for (const at::Tensor& parameter : model.parameters()) {
    hashes += parameter.grad().defined() ? tensor_hash(parameter.grad()) + " " : "- ";
  }
  return hashes;
}

/// A window of two means and a regulariser over branches, each used by some atoms.
std::string two_terms(const World& world, bool find_unused) {
  TwoLayers model;
  DistributedDataParallel ddp(model, world, {.find_unused_parameters = find_unused});
  const std::vector<Atom> atoms = atoms_of(world, 1);
  std::int64_t rows = 0;
  for (const Atom& atom : atoms) rows += atom.units / 2;
  auto window = ddp.window({.atoms = atoms.size(),
                            .terms = {{.name = "loss", .count = rows},
                                      {.name = "weighted", .weights = std::vector<double>(atoms.size(), 0.7)},
                                      {.name = "l2", .kind = TermKind::kRegularizer}}});
  for (const Atom& atom : atoms) {
    window.backward([&] {
      const at::Tensor hidden = ddp.forward(atom.x, /*use_b=*/false);
      // Of five atoms the one in the middle has nothing for the second term.
      const bool weighted = window.atom() != 2;
      return std::vector<at::Tensor>{hidden.pow(2).sum(), weighted ? hidden.sum() * 0.7 : at::Tensor(),
                                     window.atom() == 0 ? model->a->bias.pow(2).sum() : at::Tensor()};
    });
  }
  window.reduce();
  std::string result = gradients_of(*model);
  for (const TermLoss& term : window.term_losses()) result += std::to_string(term.loss.divisor()) + " ";
  return result;
}

TEST(LossTermsInProcesses, AndParametersThatNoneUsesHaveOneResult) {
  const std::string result = same_for_all([](const World& world) { return two_terms(world, /*find_unused=*/true); });
  EXPECT_THAT(result, HasSubstr(" - - 20.000000 3.500000 1.000000"));  // 2 + 3 + 4 + 5 + 6 rows, 5 weights of 0.7
}

TEST(LossTermsInProcesses, WithAnUnusedParameterAndDetectionOffAreAnErrorOnAllRanks) {
  const std::string error = same_for_all([](const World& world) { return two_terms(world, /*find_unused=*/false); });
  EXPECT_THAT(error, AllOf(HasSubstr("no atom of any rank has a gradient for b.weight, b.bias"),
                           HasSubstr("find_unused_parameters")));
}

/// A parameter that only the atoms of one rank use has its gradient on all.
std::string used_by_one_atom(const World& world) {
  TwoLayers model;
  DistributedDataParallel ddp(model, world);
  const std::vector<Atom> atoms = atoms_of(world, 1);
  auto window = ddp.window({.count = atoms.size(), .atoms = atoms.size()});
  for (const Atom& atom : atoms) {
    window.backward([&] { return ddp.forward(atom.x, /*use_b=*/window.atom() == 3).pow(2).sum(); });
  }
  window.reduce();
  return gradients_of(*model);
}

TEST(UnusedParametersInProcesses, ThatOneAtomUsesHaveTheirGradientOnAllRanks) {
  EXPECT_THAT(same_for_all(used_by_one_atom), AllOf(Not(HasSubstr("-")), Not(HasSubstr("["))));
}

/// Two parts with BatchNorm, and dropout from ATen's generator in both.
struct DroppingImpl : torch::nn::Module {
  explicit DroppingImpl(bool recomputes)
      : recomputed(recomputes),
        a(register_module("a", torch::nn::Linear(4, 6))),
        norm(register_module("norm", torch::nn::BatchNorm1d(6))),
        b(register_module("b", torch::nn::Linear(6, 2))) {
    fill(*this);
  }
  static at::Tensor drop(const at::Tensor& x) {
    return torch::nn::functional::dropout(x, torch::nn::functional::DropoutFuncOptions().p(0.4).training(true));
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto first = [this](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
      return {drop(at::tanh(norm->forward(a->forward(in[0]))))};
    };
    const auto second = [this](const at::Tensor& in) { return drop(b->forward(in)); };
    if (!recomputed) return second(first({x})[0]);
    return recompute(second, recompute_all(first, {x}, {.buffers = norm->buffers()})[0]);
  }

  bool recomputed;
  torch::nn::Linear a{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear b{nullptr};
};
TORCH_MODULE(Dropping);

/// Gradients of two windows, the second on parameters that the first has moved, and the buffers.
std::string recomputed_windows(const World& world, bool recomputes) {
  Dropping model(recomputes);
  DistributedDataParallel ddp(model, world, {.window_seed = 5});
  std::string result;
  for (int update = 1; update <= 2; ++update) {
    const std::vector<Atom> atoms = atoms_of(world, update);
    auto window = ddp.window({.count = atoms.size(), .atoms = atoms.size()});
    for (const Atom& atom : atoms) window.backward([&] { return ddp.forward(atom.x).pow(2).sum(); });
    window.reduce();
    result += gradients_of(*model);
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : model->parameters()) parameter.sub_(parameter.grad() * 0.1);
  }
  for (const at::Tensor& buffer : model->buffers()) result += tensor_hash(buffer) + " ";
  return result;
}

TEST(RecomputedPartsInWindows, HaveTheBitsOfThePlainCallWithDropoutAndBatchNorm) {
  const std::string plain = same_for_all([](const World& world) { return recomputed_windows(world, false); });
  EXPECT_EQ(same_for_all([](const World& world) { return recomputed_windows(world, true); }), plain);
  EXPECT_THAT(plain, Not(HasSubstr("[")));
}

}  // namespace
}  // namespace samegrad::testing
