// What ranks must have in common when a model is wrapped and while it trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

/// One linear layer of another form on rank 1.
struct FormImpl : torch::nn::Module {
  FormImpl(const std::string& name, std::int64_t features, at::ScalarType dtype, bool more) {
    register_parameter(name, at::ones({features, 2}, dtype));
    if (more) register_parameter("more", at::ones({1}));
  }
  at::Tensor forward() { return parameters()[0].sum(); }
};
TORCH_MODULE(Form);

TEST(ModelAgreement, AModelThatDiffersIsRefusedOnAllRanksByTheSameLine) {
  struct Case {
    std::string name = "w";
    std::int64_t features = 3;
    at::ScalarType dtype = at::kFloat;
    bool more = false;
    std::string said;
  };
  const std::vector<Case> cases{{.name = "v", .said = "'parameter v: Float [3, 2], trained'"},
                                {.features = 4, .said = "'parameter w: Float [4, 2], trained'"},
                                {.dtype = at::kDouble, .said = "'parameter w: Double [3, 2], trained'"},
                                {.more = true, .said = "rank 0 has nothing more, rank 1 has 'parameter more"}};
  for (const Case& other : cases) {
    const auto errors = run_ranks(2, [&](Communicator& comm) {
      Form model = comm.rank() == 0 ? Form("w", 3, at::kFloat, false)
                                    : Form(other.name, other.features, other.dtype, other.more);
      DistributedDataParallel ddp(model, world_of(comm));
    });
    EXPECT_THAT(errors,
                Each(AllOf(HasSubstr("[ddp] ranks differ in the model or its options"), HasSubstr(other.said))));
    EXPECT_EQ(errors[0], errors[1]);
  }
}

TEST(ModelAgreement, AParameterOnAGpuOrOfAnUnknownOptionIsRefusedByName) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          Form model("w", 3, at::kFloat, false);
                          if (comm.rank() == 1) model->register_buffer("b", at::empty({2}, at::kMeta));
                          DistributedDataParallel ddp(model, world_of(comm));
                        }),
              Each(AllOf(HasSubstr("b is on meta"), HasSubstr("kCPU"))));
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          Form model("w", 3, at::kFloat, false);
                          DistributedDataParallel ddp(model, world_of(comm), {.delay_all_reduce = {"x"}});
                        }),
              Each(HasSubstr("delay_all_reduce 'x'")));
  EXPECT_THAT(run_ranks(1,
                        [](Communicator& comm) {
                          Form model("w", 3, at::kFloat, false);
                          model->parameters()[0].requires_grad_(false);
                          DistributedDataParallel ddp(model, world_of(comm));
                        }),
              Each(HasSubstr("no parameter requires a gradient")));
  EXPECT_THAT(run_ranks(1,
                        [](Communicator& comm) {
                          Form model("w", 3, at::kFloat, false);
                          DistributedDataParallel ddp(model, world_of(comm), {.bucket_cap_mb = 0.0});
                        }),
              Each(HasSubstr("bucket_cap_mb")));
}

TEST(ModelAgreement, Rank0sParametersAndBuffersGoToAllAtConstruction) {
  for (const bool init_sync : {true, false}) {
    on_ranks(3, [&](Communicator& comm) {
      Form model("w", 3, at::kFloat, false);
      const at::Tensor buffer = model->register_buffer("b", at::full({2}, comm.rank(), at::kLong));
      const at::NoGradGuard no_grad;
      model->parameters()[0].fill_(comm.rank());
      DistributedDataParallel ddp(model, world_of(comm), {.init_sync = init_sync});
      EXPECT_EQ(model->parameters()[0][0][0].item<int>(), init_sync ? 0 : comm.rank());
      EXPECT_EQ(buffer[1].item<int>(), init_sync ? 0 : comm.rank());
    });
  }
}

TEST(CheckSync, NamesTheFirstParameterThatDiffersOnAllRanks) {
  for (const std::int64_t every : {2, 3}) {
    const auto errors = run_ranks(3, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm), {.check_sync_every = every});
      for (int step = 1; step <= 4; ++step) {
        model->zero_grad();
        loss_of(ddp.forward(rows(comm.rank(), step))).backward();
        const at::NoGradGuard no_grad;
        if (step == 1 && comm.rank() == 2) model->b->weight.add_(1e-7);
      }
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("[ddp] check after exchange " + std::to_string(every)),
                                   HasSubstr("b.weight differs between rank 0 and rank 2"))));
  }
}

TEST(Freezing, AParameterFrozenOrUnfrozenOnAllRanksTakesEffect) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    model->zero_grad();
    model->b->weight.requires_grad_(false);
    loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
    EXPECT_FALSE(model->b->weight.grad().defined());
    EXPECT_TRUE(model->b->bias.grad().defined());
    model->zero_grad();
    model->b->weight.requires_grad_(true);
    loss_of(ddp.forward(rows(comm.rank(), 2))).backward();
    TwoLayers alone;
    ((loss_of(alone->forward(rows(0, 2))) + loss_of(alone->forward(rows(1, 2)))) / 2).backward();
    EXPECT_TRUE(at::allclose(model->b->weight.grad(), alone->b->weight.grad(), 1e-5, 1e-6));
  });
}

TEST(Freezing, OnOneRankOnlyIsAnErrorOnAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    if (comm.rank() == 1) model->b->weight.requires_grad_(false);
    loss_of(ddp.forward(rows(comm.rank(), 1))).backward();
  });
  EXPECT_THAT(errors,
              Each("[ddp] backward 2: since the model was wrapped, ranks changed it differently: rank 0: nothing, "
                   "rank 1: b.weight is Float [2, 3], not trained (it was Float [2, 3], trained); make the same "
                   "change on every rank before the same forward"));
}

}  // namespace
}  // namespace samegrad::testing
