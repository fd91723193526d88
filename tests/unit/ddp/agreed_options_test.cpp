// Options, which all ranks must give alike, and of which each has allowed values.
#include "samegrad/ddp/agreed_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Options = DistributedDataParallelOptions;

/// Another value of each option, by name.
const std::map<std::string, std::function<void(Options&)>>& other_values() {
  static const std::map<std::string, std::function<void(Options&)>> values{
      {"reduction", [](Options& o) { o.reduction = GradientReduction::kSum; }},
      {"order", [](Options& o) { o.order = ReductionOrder::kNative; }},
      {"broadcast_buffers", [](Options& o) { o.broadcast_buffers = false; }},
      {"find_unused_parameters", [](Options& o) { o.find_unused_parameters = true; }},
      {"static_graph", [](Options& o) { o.static_graph = true; }},
      {"window_seed", [](Options& o) { o.window_seed.reset(); }},
      {"init_sync", [](Options& o) { o.init_sync = false; }},
      {"bucket_cap_mb", [](Options& o) { o.bucket_cap_mb = 24.999; }},
      {"first_bucket_mb", [](Options& o) { o.first_bucket_mb = 2; }},
      {"overlap", [](Options& o) { o.overlap = Overlap::kOn; }},
      {"delay_all_reduce", [](Options& o) { o.delay_all_reduce = {"p"}; }},
      {"check_sync_every", [](Options& o) { o.check_sync_every = 0; }}};
  return values;
}

std::vector<std::string> wrapped(int world_size, const std::function<Options(int rank)>& options) {
  return run_ranks(world_size, [&](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), options(comm.rank()));
  });
}

TEST(AgreedOptions, AreAllButTwo) {
  // Does not compile after an option has come, which must then be agreed on, or named here.
  const auto& [reduction, order, broadcast_buffers, find_unused_parameters, static_graph, window_seed, init_sync,
               bucket_cap_mb, first_bucket_mb, gradient_as_bucket_view, overlap, delay_all_reduce, check_sync_every,
               timeout] = Options{};
  EXPECT_TRUE(gradient_as_bucket_view);  // where gradients live
  EXPECT_GT(timeout.count(), 0);         // how long a rank waits
  EXPECT_EQ(agreed_options().size(), 14U - 2U);
  for (const AgreedOption& option : agreed_options()) EXPECT_TRUE(other_values().contains(std::string(option.name)));
}

TEST(AgreedOptions, EachIsRefusedByNameOnAllRanksWhereOneRankDiffers) {
  for (const AgreedOption& option : agreed_options()) {
    const std::string name(option.name);
    Options other;
    other_values().at(name)(other);
    const std::vector<std::string> errors = wrapped(3, [&](int rank) { return rank == 2 ? other : Options{}; });
    EXPECT_THAT(errors, Each("[ddp] ranks differ in the model or its options: rank 0 has 'option " + name + ": " +
                             option.value({}) + "', rank 2 has 'option " + name + ": " + option.value(other) +
                             "'; build the same model on every rank, its parts in the same order, and wrap it with the "
                             "same options"));
    EXPECT_EQ(wrapped(3, [&](int) { return other; }), nothing_thrown(3)) << name;
  }
}

TEST(AgreedOptions, DelayAllReduceIsTheSameInAnyOrder) {
  EXPECT_EQ(wrapped(2,
                    [](int rank) {
                      return Options{.delay_all_reduce = rank == 0 ? std::vector<std::string>{"p", "q"}
                                                                   : std::vector<std::string>{"q", "p", "q"}};
                    }),
            nothing_thrown(2));
}

TEST(AgreedOptions, WhereGradientsLiveAndHowLongARankWaitsAreItsOwnAffair) {
  on_ranks(2, [](Communicator& comm) {
    TwoLayers model;
    DistributedDataParallel ddp(
        model, world_of(comm),
        {.gradient_as_bucket_view = comm.rank() == 0, .timeout = std::chrono::seconds(60 + comm.rank())});
    TwoLayers alone;
    ((loss_of(alone->forward(rows(0, 0))) + loss_of(alone->forward(rows(1, 0)))) / 2).backward();
    loss_of(ddp.forward(rows(comm.rank(), 0))).backward();
    EXPECT_TRUE(at::allclose(model->b->weight.grad(), alone->b->weight.grad(), 1e-5, 1e-7));
  });
}

TEST(AgreedOptions, SeedsOfAWindowThatDifferAreRefusedOnAllRanksWithBoth) {
  const std::vector<std::string> errors = run_ranks(3, [](Communicator& comm) {
    Branches model;
    DistributedDataParallel ddp(model, world_of(comm), {.window_seed = std::nullopt});
    WindowRequest request{.count = 1, .atoms = 1};
    request.generator_seed = 7;
    if (comm.rank() == 1) request.generator_seed.reset();
    ddp.window(request);
  });
  EXPECT_THAT(errors, Each("[agreement] ranks differ in generator_seed: rank 0 has 7, rank 1 has none; start all ranks "
                           "with the same configuration and data"));
}

TEST(AgreedOptions, OfAJoinAreComparedInItsFirstRound) {
  for (const bool throws : {true, false}) {
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& comm) {
      Branches model;
      DistributedDataParallel ddp(model, world_of(comm));
      JoinOptions options;
      (throws ? options.throw_on_early_termination : options.divide_by_initial_world_size) = comm.rank() == 1;
      ddp.join([&] { ddp.forward(1.0, 1.0).backward(); }, options);
    });
    EXPECT_THAT(errors, Each(HasSubstr(std::string("join: ranks differ in ") +
                                       (throws ? "throw_on_early_termination" : "divide_by_initial_world_size") +
                                       ": rank 0 has false, rank 1 has true")));
  }
}

TEST(Options, WithoutMeaningAreRefusedOnAllRanksWithTheValueAndWhatIsAllowed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<Options, std::string>> cases{
      {{.reduction = GradientReduction::kWindow}, "reduction kWindow: allowed are kMean and kSum"},
      {{.order = static_cast<ReductionOrder>(7)}, "order is no ReductionOrder: allowed are"},
      {{.bucket_cap_mb = 0.0}, "bucket_cap_mb 0: allowed is above 0"},
      {{.bucket_cap_mb = -1.0}, "bucket_cap_mb -1: allowed is above 0"},
      {{.bucket_cap_mb = infinite}, "bucket_cap_mb inf: allowed is above 0 and at most"},
      {{.first_bucket_mb = nan}, "first_bucket_mb nan: allowed is above 0"},
      {{.overlap = static_cast<Overlap>(7)}, "overlap is no Overlap: allowed are"},
      {{.delay_all_reduce = {"p", "x"}}, "delay_all_reduce 'x': no parameter has this name"},
      {{.check_sync_every = -1}, "check_sync_every -1: allowed is 0 (never) and above"},
      {{.timeout = std::chrono::milliseconds(0)}, "timeout 0 ms: allowed is above 0"},
      {{.timeout = std::chrono::milliseconds(-5)}, "timeout -5 ms: allowed is above 0"}};
  for (const auto& [options, said] : cases) {
    const std::vector<std::string> errors = wrapped(2, [&](int rank) { return rank == 1 ? options : Options{}; });
    EXPECT_THAT(errors, Each(AllOf(StartsWith("[ddp] "), HasSubstr(said))));
    EXPECT_EQ(errors[0], errors[1]);
  }
}

}  // namespace
}  // namespace samegrad::testing
