// A model that changes after it was wrapped: on all ranks alike it is trained as it is now; else all ranks have one
// message that names what changed, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// The sum of all parameters, of any shape and dtype, times a factor.
struct SumImpl : torch::nn::Module {
  SumImpl() {
    register_parameter("v", at::ones({2}));
    register_parameter("w", at::ones({3, 2}));
    seen = register_buffer("seen", at::zeros({1}));
  }
  at::Tensor forward(double factor) {
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const at::Tensor& parameter : parameters()) sum = sum + parameter.to(at::kDouble).sum() * factor;
    return sum;
  }
  at::Tensor& parameter(const std::string& name) { return parameters_[name]; }
  void forget(const std::string& name) { parameters_.erase(name); }
  at::Tensor seen;
};
TORCH_MODULE(Sum);

using Change = std::function<void(Sum&)>;

struct Case {
  Change change;
  std::string said;  ///< of it, by all ranks
  bool of_buffers = false;
};

std::vector<Case> changes() {
  return {
      {[](Sum& m) { m->parameter("w").requires_grad_(false); },
       "w is Float [3, 2], not trained (it was Float [3, 2], trained)"},
      {[](Sum& m) { m->parameter("w").set_data(at::ones({5})); }, "w is Float [5], trained (it was Float [3, 2]"},
      {[](Sum& m) { m->parameter("v").set_data(at::ones({2}, at::kDouble)); },
       "v is Double [2], trained (it was Float [2]"},
      {[](Sum& m) { m->register_parameter("late", at::ones({4})); }, "late is new: Float [4], trained"},
      {[](Sum& m) { m->register_parameter("late", at::ones({4}), false); }, "late is new: Float [4], not trained"},
      {[](Sum& m) { fill(*m->register_module("part", torch::nn::Linear(1, 1))); }, "part.weight is new: Float [1, 1]"},
      {[](Sum& m) { m->forget("w"); }, "w is gone"},
      {[](Sum& m) {
         m->parameter("w") = at::ones({3, 2}).requires_grad_(true);
       },
       "w is another tensor"},
      {[](Sum& m) { m->register_buffer("more", at::zeros({2})); }, "more is new: Float [2], not trained", true},
      {[](Sum& m) { m->seen.set_data(at::zeros({3})); }, "seen is Float [3], not trained (it was Float [1]", true},
      {[](Sum& m) { m->register_module("norm", torch::nn::BatchNorm1d(torch::nn::BatchNormOptions(2).affine(false))); },
       "norm.running_mean is new: Float [2]", true}};
}

void plain_step(DistributedDataParallel<Sum>& ddp, double factor) {
  ddp.module()->zero_grad();
  ddp.forward(factor).backward();
}

void window_step(DistributedDataParallel<Sum>& ddp, double factor) {
  auto window = ddp.window({.count = 1, .atoms = 1});
  window.backward([&] { return ddp.forward(factor); });
  window.reduce();
}

bool gradients_are(const Sum& model, double value) {
  return std::ranges::all_of(model->parameters(), [&](const at::Tensor& parameter) {
    if (!parameter.requires_grad()) return !parameter.grad().defined();
    return parameter.grad().defined() && parameter.grad().eq(value).all().item<bool>();
  });
}

TEST(ModelChanges, OnOneRankAreNamedOnAllRanksAtTheNextBackward) {
  for (const Case& each : changes()) {
    for (const int changed : {0, 2}) {
      const std::vector<std::string> errors = run_ranks(3, [&](Communicator& comm) {
        Sum model;
        DistributedDataParallel ddp(model, world_of(comm));
        plain_step(ddp, 1.0);
        if (comm.rank() == changed) each.change(model);
        plain_step(ddp, 1.0);
      });
      EXPECT_EQ(errors, std::vector<std::string>(3, errors[0])) << each.said;
      if (each.of_buffers) {  // seen where they go out, in the name of the call
        EXPECT_THAT(errors, Each(HasSubstr("changed: " + each.said.substr(0, 30))));
        continue;
      }
      EXPECT_THAT(errors, Each(AllOf(HasSubstr("[ddp] backward"), HasSubstr("ranks changed it differently: rank 0: "),
                                     HasSubstr(each.said), HasSubstr(changed == 2 ? "rank 2: " : "rank 1: nothing"))));
    }
  }
}

TEST(ModelChanges, OnOneRankAreNamedOnAllRanksAtTheNextWindow) {
  for (const Case& each : changes()) {
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& comm) {
      Sum model;
      DistributedDataParallel ddp(model, world_of(comm));
      window_step(ddp, 1.0);
      if (comm.rank() == 1) each.change(model);
      window_step(ddp, 1.0);
    });
    EXPECT_EQ(errors, std::vector<std::string>(3, errors[0])) << each.said;
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("[agreement] since the model was wrapped, ranks changed it differently: "
                                             "rank 0: nothing, rank 1: "),
                                   HasSubstr(each.said))));
  }
}

TEST(ModelChanges, OnOneRankWithOverlapAreNamedOnAllRanksInTheNameOfTheCall) {
  for (const bool static_graph : {false, true}) {
    for (const Case& each : changes()) {
      const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
        Sum model;
        DistributedDataParallel ddp(model, world_of(comm), {.static_graph = static_graph, .overlap = Overlap::kOn});
        for (int step = 0; step < 3; ++step) plain_step(ddp, 1.0);
        if (comm.rank() == 1) each.change(model);
        plain_step(ddp, 1.0);
      });
      EXPECT_THAT(errors, Each(HasSubstr("changed: " + each.said.substr(0, 30)))) << each.said;
    }
  }
}

/// Those that autograd itself does not mind.
std::vector<Case> changes_in_the_middle() {
  std::vector<Case> all = changes();
  std::erase_if(all, [](const Case& each) {
    return each.of_buffers || each.said.starts_with("w is Float [5]") || each.said.starts_with("norm");
  });
  return all;
}

TEST(ModelChanges, BetweenAForwardAndItsBackwardAreAnErrorOnAllRanks) {
  for (const Case& each : changes_in_the_middle()) {
    for (const bool everywhere : {false, true}) {
      for (const Overlap overlap : {Overlap::kOff, Overlap::kOn}) {
        const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
          Sum model;
          DistributedDataParallel ddp(model, world_of(comm), {.overlap = overlap});
          const at::Tensor loss = ddp.forward(1.0);
          if (everywhere || comm.rank() == 1) each.change(model);
          loss.backward();
        });
        EXPECT_THAT(errors, Each(AllOf(HasSubstr("the model was changed between a forward and its backward: "),
                                       HasSubstr(each.said))));
      }
    }
  }
}

TEST(ModelChanges, InAnOpenWindowAreAnErrorOnAllRanksAlsoWhereTheyAreTakenBack) {
  std::vector<Case> cases = changes_in_the_middle();
  for (const bool everywhere : {false, true}) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
        Sum model;
        DistributedDataParallel ddp(model, world_of(comm));
        auto window = ddp.window({.count = 2, .atoms = 2});
        window.backward([&] { return ddp.forward(1.0); });
        if (everywhere || comm.rank() == 1) cases[i].change(model);
        window.backward([&] { return ddp.forward(1.0); });
        if (i == 0) model->parameter("w").requires_grad_(true);
        window.reduce();
      });
      EXPECT_THAT(errors, Each(AllOf(HasSubstr("the model was changed while the window was open: "),
                                     HasSubstr(cases[i].said))));
    }
  }
}

TEST(ModelChanges, OnAllRanksAlikeTakeEffectInBackwardAndInWindows) {
  for (const bool overlap : {false, true}) {
    for (const Case& each : changes()) {
      on_ranks(3, [&](Communicator& comm) {
        Sum model;
        DistributedDataParallel ddp(model, world_of(comm),
                                    {.overlap = overlap ? Overlap::kOn : Overlap::kOff, .check_sync_every = 1});
        const double factor = 1.0 + comm.rank();
        plain_step(ddp, factor);
        window_step(ddp, factor);
        each.change(model);
        for (int step = 0; step < 2; ++step) {
          plain_step(ddp, factor);
          EXPECT_TRUE(gradients_are(model, 2.0)) << each.said;
          window_step(ddp, factor);
          EXPECT_TRUE(gradients_are(model, 2.0)) << each.said;
        }
        ddp.check_sync();
      });
    }
  }
}

TEST(ModelChanges, ThatBringOtherValuesToEachRankAreRefusedAtOnce) {
  for (const bool windows : {false, true}) {
    EXPECT_THAT(run_ranks(2,
                          [&](Communicator& comm) {
                            Sum model;
                            DistributedDataParallel ddp(model, world_of(comm));
                            model->register_parameter("late", at::full({2}, 1.0 + comm.rank()));
                            windows ? window_step(ddp, 1.0) : plain_step(ddp, 1.0);
                          }),
                Each(HasSubstr("late differs between rank 0 and rank 1")));
  }
}

TEST(ModelChanges, BeforeAWindowAreAgreedOnThereAndCostNoExchangeOfTheirOwn) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Sum model;
    DistributedDataParallel ddp(model, world_of(comm));
    model->parameter("w").requires_grad_(false);
    window_step(ddp, 1.0);
    const auto before = comm.calls();
    EXPECT_EQ(before.at("wrapping a model/all_gather"), 1);
    plain_step(ddp, 1.0);
    EXPECT_EQ(comm.calls().at("end of backward/all_gather"), 1);  // nothing is left to agree on
    EXPECT_EQ(comm.calls().at("wrapping a model/all_gather"), 1);
  });
}

TEST(ModelChanges, ThatARankTakesBackAreNone) {
  on_ranks(2, [](Communicator& comm) {
    Sum model;
    DistributedDataParallel ddp(model, world_of(comm));
    if (comm.rank() == 1) {
      const auto scope = ddp.no_sync();
      model->parameter("w").requires_grad_(false);
      ddp.forward(1.0).backward();
      model->parameter("w").requires_grad_(true);
    }
    plain_step(ddp, 1.0 + comm.rank());
    EXPECT_EQ(model->parameter("w").grad().max().item<float>(), 1.5F);
  });
}

TEST(ModelChanges, ThatCannotBeExchangedAreNamedToTheOtherRanksToo) {
  const std::vector<std::pair<Change, std::string>> cases{
      {[](Sum& m) { m->parameter("w") = at::ones({2}, at::kMeta).requires_grad_(true); },
       "w is on meta: this build exchanges CPU tensors only"},
      {[](Sum& m) { m->register_parameter("late", at::ones({2}, at::kMeta)); }, "late is on meta"},
      {[](Sum& m) { m->register_buffer("late", at::ones({2}, at::kMeta)); }, "late is on meta"},
      {[](Sum& m) {
         for (at::Tensor& parameter : m->parameters()) parameter.requires_grad_(false);
       },
       "no parameter requires a gradient"}};
  for (const auto& [change, said] : cases) {
    for (const bool windows : {false, true}) {
      EXPECT_THAT(run_ranks(2,
                            [&](Communicator& comm) {
                              Sum model;
                              DistributedDataParallel ddp(model, world_of(comm));
                              if (comm.rank() == 1) change(model);
                              windows ? window_step(ddp, 1.0) : plain_step(ddp, 1.0);
                            }),
                  Each(HasSubstr(said)));
    }
  }
}

TEST(ModelChanges, AreNoAffairOfEvaluationWithoutGradients) {
  on_ranks(2, [](Communicator& comm) {
    Sum model;
    DistributedDataParallel ddp(model, world_of(comm));
    plain_step(ddp, 1.0);
    ddp.eval();
    {
      const at::NoGradGuard no_grad;
      for (at::Tensor& parameter : model->parameters()) parameter.requires_grad_(false);
      const double sum = comm.rank() == 1 ? ddp.forward(1.0).item<double>() : 8.0;
      EXPECT_EQ(sum, 8.0);
      for (at::Tensor& parameter : model->parameters()) parameter.requires_grad_(true);
    }
    ddp.train();
    plain_step(ddp, 1.0);
  });
}

TEST(ModelChanges, OfTheNumberOfTensorsAreSeenByACheckOfTheModel) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          Sum model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          if (comm.rank() == 1) model->register_buffer("late", at::ones({2}));
                          ddp.check_sync();
                        }),
              Each(HasSubstr("rank 0 and rank 1 hold unequal numbers of tensors")));
}

TEST(CommHook, OfOneRankOnlyIsAnErrorOnAllRanks) {
  EXPECT_THAT(run_ranks(3,
                        [](Communicator& comm) {
                          Sum model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          if (comm.rank() == 1) ddp.register_comm_hook(mean_hook);
                          plain_step(ddp, 1.0);
                        }),
              Each(HasSubstr("ranks differ in whether they have a communication hook: rank 0: none, rank 1: one")));
}

}  // namespace
}  // namespace samegrad::testing
