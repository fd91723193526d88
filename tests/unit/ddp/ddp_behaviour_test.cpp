// What users of PyTorch's DistributedDataParallel rely on, each named in docs/ddp-parity.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <memory>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

at::Tensor mean_gradient_of_b(int world_size, int step) {
  TwoLayers model;
  at::Tensor total = at::zeros({});
  for (int rank = 0; rank < world_size; ++rank) total = total + loss_of(model->forward(rows(rank, step))) / world_size;
  total.backward();
  return model->b->weight.grad();
}

bool near(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-5, 1e-7); }

TEST(Forward, WhoseOutputIsIgnoredLeavesTheNextStepAsItIs) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    for (int ignored = 0; ignored < 3; ++ignored) ddp.forward(rows(comm.rank(), 7));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0)));
  });
}

TEST(Forward, WithoutGradientsInAnyNumberOnARankExchangesNothing) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    TwoLayers model;  // without buffers
    DistributedDataParallel ddp(model, world_of(comm));
    const auto before = comm.calls();
    {
      const at::NoGradGuard no_grad;
      for (int i = 0; i <= comm.rank(); ++i) EXPECT_FALSE(ddp.forward(rows(comm.rank(), i)).requires_grad());
    }
    EXPECT_EQ(comm.calls(), before);
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0)));
  });
}

struct TwoHeadsImpl : torch::nn::Module {
  TwoHeadsImpl() : a(register_module("a", torch::nn::Linear(4, 2))), b(register_module("b", torch::nn::Linear(4, 2))) {
    fill(*this);
  }
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& x) { return {a(x), b(x)}; }
  torch::nn::Linear a{nullptr};
  torch::nn::Linear b{nullptr};
};
TORCH_MODULE(TwoHeads);

TEST(Backward, OfEachOutputByItselfNeedsUnusedDetectionAndThenGivesTheMean) {
  on_ranks(2, [](Communicator& comm) {
    TwoHeads model;
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    const auto [a, b] = ddp.forward(rows(comm.rank(), 0));
    a.sum().backward();
    b.sum().backward();
    const at::Tensor mean = (rows(0, 0).sum(0) + rows(1, 0).sum(0)) / 2;
    EXPECT_TRUE(near(model->a->weight.grad()[0], mean));
    EXPECT_TRUE(near(model->b->weight.grad()[1], mean));
  });
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoHeads model;
                          DistributedDataParallel ddp(model, world_of(comm));
                          ddp.forward(rows(comm.rank(), 0)).first.sum().backward();
                        }),
              Each(AllOf(HasSubstr("b.weight, b.bias"), HasSubstr("find_unused_parameters"))));
}

TEST(Backward, AParameterThatTheLossUsesBesideForwardHasItsWholeMean) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    const at::Tensor beside = model->b->weight.pow(2).sum() * (1.0 + comm.rank());
    (loss_of(ddp.forward(rows(comm.rank(), 0))) + beside).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0) + model->b->weight.detach() * 3));
  });
}

/// Runs `segment` again inside backward, by a backward of its own, as re-entrant gradient checkpointing does.
struct Recomputed : torch::autograd::Function<Recomputed> {
  using Segment = std::function<at::Tensor(const at::Tensor&)>;
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const Segment* segment) {
    context->save_for_backward({x});
    context->saved_data["segment"] = reinterpret_cast<std::int64_t>(segment);
    return (*segment)(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto* const segment = reinterpret_cast<const Segment*>(context->saved_data["segment"].toInt());
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
    const at::AutoGradMode enabled(true);
    (*segment)(x).backward(gradients[0]);
    return {x.grad(), at::Tensor()};
  }
};

/// first, then twice a segment with `once` in the first and `shared` in both, then `shared` outside; one layer unused.
struct SegmentsImpl : torch::nn::Module {
  explicit SegmentsImpl(bool recompute) : recompute_(recompute) {
    for (const char* name : {"first", "once", "shared", "unused"}) {
      layers_.push_back(register_module(name, torch::nn::Linear(4, 4)));
    }
    fill(*this);
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor hidden = layers_[0](x).tanh();
    hidden = run(with_once_, hidden);
    return layers_[2](run(shared_only_, hidden));
  }

 private:
  at::Tensor run(const Recomputed::Segment& segment, const at::Tensor& x) const {
    return recompute_ ? Recomputed::apply(x, &segment) : segment(x);
  }
  bool recompute_;
  std::vector<torch::nn::Linear> layers_;
  Recomputed::Segment with_once_ = [this](const at::Tensor& x) { return layers_[2](layers_[1](x).tanh()).tanh(); };
  Recomputed::Segment shared_only_ = [this](const at::Tensor& x) { return layers_[2](x).tanh(); };
};
TORCH_MODULE(Segments);

TEST(Recomputation, InsideBackwardHasTheMeanOfLayersUsedOnceAndTwice) {
  std::vector<at::Tensor> expected;
  {
    Segments model(false);
    ((loss_of(model(rows(0, 0))) + loss_of(model(rows(1, 0)))) / 2).backward();
    for (const at::Tensor& parameter : model->parameters()) expected.push_back(parameter.grad());
  }
  for (const auto& options : {DistributedDataParallelOptions{.find_unused_parameters = true},
                              DistributedDataParallelOptions{.static_graph = true},
                              DistributedDataParallelOptions{.static_graph = true, .overlap = Overlap::kOn}}) {
    on_ranks(2, [&](Communicator& comm) {
      Segments model(true);
      DistributedDataParallel ddp(model, world_of(comm), options);
      for (int step = 0; step < 2; ++step) {
        model->zero_grad();
        loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const at::Tensor gradient = model->parameters()[i].grad();
          ASSERT_EQ(gradient.defined(), expected[i].defined()) << i;
          EXPECT_TRUE(!gradient.defined() || near(gradient, expected[i])) << i;
        }
      }
    });
  }
}

TEST(Backward, AUsersHookOnAParameterSeesTheRanksOwnGradientBeforeTheMean) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    at::Tensor own;
    model->b->weight.register_hook([&](const at::Tensor& gradient) {
      own = gradient.clone();
      return gradient * 2;
    });
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0) * 2));
    EXPECT_FALSE(near(own, mean_gradient_of_b(2, 0)));
  });
}

TEST(Backward, HalfPrecisionGradientsNearTheLargestNumberDoNotOverflow) {
  on_ranks(3, [](Communicator& comm) {
    const auto layer = std::make_shared<torch::nn::LinearImpl>(torch::nn::LinearOptions(2, 1).bias(false));
    layer->to(at::kHalf);
    DistributedDataParallel ddp(layer, world_of(comm));
    (ddp.forward(at::ones({1, 2}, at::kHalf)) * 40000).sum().backward();
    EXPECT_TRUE(at::equal(layer->weight.grad(), at::full({1, 2}, 40000, at::kHalf)));  // their sum is above 65504
  });
}

TEST(Optimizers, ClearAndStepOnGradientsInBucketsAndRanksStayEqual) {
  for (const bool set_to_none : {true, false}) {
    std::vector<at::Tensor> weights(2);
    on_ranks(2, [&](Communicator& comm) {
      TwoLayers model;
      DistributedDataParallel ddp(model, world_of(comm));
      torch::optim::AdamW adamw(model->parameters(), 0.01);
      torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
      for (int step = 0; step < 3; ++step) {
        for (torch::optim::Optimizer* optimizer : std::initializer_list<torch::optim::Optimizer*>{&adamw, &sgd}) {
          optimizer->zero_grad(set_to_none);
          loss_of(ddp.forward(rows(comm.rank(), step))).backward();
          torch::nn::utils::clip_grad_norm_(model->parameters(), 0.1);
          optimizer->step();
        }
      }
      ddp.check_sync();
      weights[static_cast<std::size_t>(comm.rank())] = model->b->weight.detach().clone();
    });
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
    EXPECT_FALSE(at::equal(weights[0], TwoLayers()->b->weight));
  }
}

TEST(Strides, OfAParameterMayBeAnyButTheSameOnAllRanks) {
  const auto train = [](Communicator& comm, bool channels_last) {
    torch::nn::Conv2d layer(torch::nn::Conv2dOptions(2, 3, 2));
    fill(*layer);
    if (channels_last) layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
    DistributedDataParallel ddp(layer, world_of(comm));
    loss_of(ddp.forward(rows(comm.rank(), 0, 1, 18).view({1, 2, 3, 3}))).backward();
    EXPECT_EQ(layer->weight.grad().strides(), layer->weight.strides());
    return layer->weight.grad().contiguous();
  };
  std::vector<at::Tensor> gradients(2);
  for (const bool channels_last : {false, true}) {
    on_ranks(2, [&](Communicator& comm) {
      const at::Tensor gradient = train(comm, channels_last);
      if (comm.rank() == 0) gradients[channels_last ? 1 : 0] = gradient;
    });
  }
  EXPECT_TRUE(near(gradients[0], gradients[1]));
  EXPECT_THAT(run_ranks(2, [&](Communicator& comm) { train(comm, comm.rank() == 1); }),
              Each(AllOf(HasSubstr("parameter weight"), HasSubstr("with strides [8, 1, 4, 2]"))));
}

TEST(Wrapping, AModelWithNothingToTrainIsRefused) {
  EXPECT_THAT(run_ranks(2,
                        [](Communicator& comm) {
                          TwoLayers model;
                          for (at::Tensor& parameter : model->parameters()) parameter.requires_grad_(false);
                          DistributedDataParallel ddp(model, world_of(comm));
                        }),
              Each(HasSubstr("there is nothing to exchange")));
}

TEST(Wrapping, WithoutInitSyncEachRankKeepsItsValues) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    const at::NoGradGuard no_grad;
    model->a->bias.fill_(comm.rank());
    DistributedDataParallel ddp(model, world_of(comm), {.init_sync = false});
    EXPECT_EQ(model->a->bias[0].item<int>(), comm.rank());
  });
}

TEST(Wrapping, AnEmptyParameterIsNoObstacle) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    const at::Tensor empty = model->register_parameter("empty", at::empty({0, 3}));
    DistributedDataParallel ddp(model, world_of(comm));
    (loss_of(ddp.forward(rows(comm.rank(), 0))) + empty.sum()).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0)));
    EXPECT_EQ(empty.grad().sizes(), empty.sizes());
  });
}

TEST(DelayAllReduce, GradientsLeaveAfterAllOthersAndHaveTheMean) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm), {.delay_all_reduce = {"b.weight"}});
    EXPECT_THAT(ddp.describe(), HasSubstr("bucket 1: Float, 64 bytes, delayed: b.weight"));
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(near(model->b->weight.grad(), mean_gradient_of_b(2, 0)));
  });
}

TEST(CommHook, StaysWhenParametersAreFrozenLater) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(model, world_of(comm));
    int calls = 0;
    ddp.register_comm_hook([&](GradBucket& bucket, const World& world) {
      ++calls;
      return mean_hook(bucket, world);
    });
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_EQ(calls, 1);
    model->a->bias.requires_grad_(false);
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_EQ(calls, 2);
  });
}

}  // namespace
}  // namespace samegrad::testing
