// A program's own module, optimizer, scheduler and values come back from a checkpoint with the same bits.
#include "samegrad/checkpoint/module_checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>

#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/comm/single_communicator.h"
#include "tests/unit/checkpoint/module_net.h"
#include "tests/unit/checkpoint/small_checkpoint.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using testing::nothing_thrown;
using testing::OptimizerCase;
using testing::run_ranks;
using testing::Trained;
using State = std::map<std::string, std::string>;

/// A world on a communicator that lives longer.
World world_of(Communicator& comm) {
  return World(std::shared_ptr<Communicator>(&comm, [](Communicator*) {}));
}

class EachOptimizer : public ::testing::TestWithParam<OptimizerCase> {};

// 10 updates in one go, and 5 + 5 with everything made anew in between, on `ranks` ranks.
void expect_same_bits(const OptimizerCase& optimizer_case, int ranks) {
  const TemporaryFolder folder(Medium::kMemory);
  std::vector<State> whole(static_cast<std::size_t>(ranks));
  std::vector<State> resumed(whole.size());
  std::vector<State> forgotten(whole.size());
  const std::vector<std::string> errors = run_ranks(ranks, [&](Communicator& comm) {
    ASSERT_EQ(comm.size(), ranks);
    const World world = world_of(comm);
    const auto rank = static_cast<std::size_t>(comm.rank());
    Trained straight(optimizer_case, 1, 1.0);
    straight.train(comm, 1, 10);
    whole[rank] = straight.state();
    std::filesystem::path path;
    {
      Trained first(optimizer_case, 1, 1.0);
      first.train(comm, 1, 5);
      const checkpoint::Training training{*first.net, first.optimizer.get(), &first.scheduler};
      path = checkpoint::save(world, folder.path(), training, {.update = 5});
    }
    Trained second(optimizer_case, 2, 7.0);
    checkpoint::load(world, path, {*second.net, second.optimizer.get(), &second.scheduler});
    EXPECT_TRUE(second.net->named_parameters()["head"].is_same(second.net->token));
    second.train(comm, 6, 10);
    resumed[rank] = second.state();
    Trained model_only(optimizer_case, 1, 1.0);
    checkpoint::load_model(world, path, *model_only.net);
    model_only.train(comm, 6, 10);
    forgotten[rank] = model_only.state();
  });
  ASSERT_EQ(errors, nothing_thrown(ranks));
  EXPECT_EQ(resumed, whole);
  EXPECT_NE(forgotten, whole) << "a forgotten optimizer state is not seen";
  EXPECT_GT(whole.front().size(), 30U);
}

TEST_P(EachOptimizer, FivePlusFiveUpdatesHaveTheBitsOfTen) { expect_same_bits(GetParam(), 1); }
TEST_P(EachOptimizer, FivePlusFiveUpdatesOfTwoRanksHaveTheBitsOfTen) { expect_same_bits(GetParam(), 2); }

INSTANTIATE_TEST_SUITE_P(ModuleCheckpoint, EachOptimizer, ::testing::ValuesIn(testing::optimizer_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(ModuleCheckpoint, AnAsynchronousSaveHasTheValuesOfItsCallOnAllRanks) {
  const TemporaryFolder folder(Medium::kMemory);
  const OptimizerCase optimizer_case = testing::optimizer_cases().front();
  const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
    const World world = world_of(comm);
    Trained run(optimizer_case, 1, 1.0);
    const checkpoint::Training training{*run.net, run.optimizer.get(), &run.scheduler};
    run.train(comm, 1, 3);
    const State expected = run.state();
    checkpoint::AsyncSaver saver;
    const std::filesystem::path path = saver.save(world, folder.path(), training, {.update = 3}, 1);
    run.train(comm, 4, 6);
    EXPECT_NE(run.state(), expected);
    saver.check(world);
    saver.wait(world);
    checkpoint::load(world, path, training);
    EXPECT_EQ(run.state(), expected);
    saver.save(world, folder.path(), training, {.update = 4}, 1);
    saver.wait(world);
  });
  EXPECT_EQ(errors, nothing_thrown(2));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-0004"});
}

TEST(ModuleCheckpoint, AnAsynchronousSavesFailureIsThrownOnAllRanksByTheNextCall) {
  const TemporaryFolder folder(Medium::kMemory);
  write_text(folder.path() / "file", "x");
  const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
    const World world = world_of(comm);
    testing::Net net(1);
    checkpoint::AsyncSaver saver;
    saver.save(world, folder.path() / "file", {net}, {.update = 3});
    saver.wait(world);
  });
  EXPECT_NE(errors[0].find("step-0003: making the folder: Not a directory; needs about "), std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
}

TEST(ModuleCheckpoint, EveryTensorComesBackInItsTypeShapeAndLayout) {
  const TemporaryFolder folder(Medium::kMemory);
  const World world(std::make_shared<SingleCommunicator>());
  testing::Net saved(1);
  const std::filesystem::path path = checkpoint::save(world, folder.path(), {saved}, {});
  testing::Net loaded(2);
  const auto strides = loaded.turned.strides().vec();
  checkpoint::load(world, path, {loaded});
  for (const auto& named : {std::pair(saved.named_parameters(), loaded.named_parameters()),
                            std::pair(saved.named_buffers(), loaded.named_buffers())}) {
    for (const auto& item : named.first) {
      const at::Tensor& there = named.second[item.key()];
      EXPECT_EQ(there.scalar_type(), item.value().scalar_type()) << item.key();
      EXPECT_TRUE(at::equal(there, item.value())) << item.key();
    }
  }
  EXPECT_EQ(loaded.turned.strides().vec(), strides);
  EXPECT_TRUE(loaded.token.requires_grad());
}

TEST(ModuleCheckpoint, ValuesOfTheProgramComeBackWithTheSameBits) {
  const TemporaryFolder folder(Medium::kMemory);
  const World world(std::make_shared<SingleCommunicator>());
  testing::Net net(1);
  const Json extra = {{"cursor", std::numeric_limits<std::int64_t>::max()},
                      {"lowest", std::numeric_limits<std::int64_t>::min()},
                      {"third", 1.0 / 3.0},
                      {"tiny", 5e-324},
                      {"minus_zero", -0.0},
                      {"whole", 2.0},
                      {"text", "\u00fc\n"}};
  checkpoint::save(world, folder.path(), {net},
                   {.update = 3, .extra = extra, .tensors = {{"average", at::arange(6).view({2, 3}).t()}}});
  const std::optional<checkpoint::Loaded> loaded = checkpoint::load_latest(world, folder.path(), {net});
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->update, 3);
  EXPECT_EQ(loaded->path, folder.path() / "step-0003");
  EXPECT_EQ(loaded->extra.dump(), extra.dump());
  EXPECT_TRUE(loaded->extra["whole"].is_number_float());
  EXPECT_TRUE(std::signbit(loaded->extra["minus_zero"].get<double>()));
  ASSERT_EQ(loaded->tensors.size(), 1U);
  EXPECT_TRUE(at::equal(loaded->tensors.at("average"), at::arange(6).view({2, 3}).t()));
  EXPECT_TRUE(verify_checkpoint(loaded->path).manifest.has_extra_file());
}

TEST(ModuleCheckpoint, EachRanksGeneratorGoesOnWhereItWas) {
  const TemporaryFolder folder(Medium::kMemory);
  const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
    ASSERT_EQ(comm.size(), 2);
    const World world = world_of(comm);
    testing::Net net(1);
    const auto seed = static_cast<std::uint64_t>(comm.rank()) + 5;
    const at::Generator random = at::detail::createCPUGenerator(seed);
    at::randn({7}, random);
    checkpoint::save(world, folder.path(), {.model = net, .generators = {{"noise", random}}},
                     {.update = 1, .rank_extra = {{"file", comm.rank()}}});
    const at::Tensor expected = at::randn({9}, random);
    const at::Generator other = at::detail::createCPUGenerator(99);
    const checkpoint::Loaded loaded =
        checkpoint::load(world, folder.path() / "step-0001", {.model = net, .generators = {{"noise", other}}});
    EXPECT_TRUE(at::equal(at::randn({9}, other), expected));
    EXPECT_EQ(loaded.rank_extra, Json({{"file", comm.rank()}}));
  });
  EXPECT_EQ(errors, nothing_thrown(2));
}

TEST(ModuleCheckpoint, OnlyTheNewestOnesOfTheRunAreKept) {
  const TemporaryFolder folder(Medium::kMemory);
  const World world(std::make_shared<SingleCommunicator>());
  testing::Net net(1);
  checkpoint::save(world, folder.path(), {.model = net, .run_id = "other"}, {.update = 9});
  for (std::int64_t update = 1; update <= 4; ++update) {
    checkpoint::save(world, folder.path(), {net}, {.update = update}, /*keep=*/2);
  }
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-0003", "step-0004", "step-0009"}));
  EXPECT_EQ(checkpoint::load_latest(world, folder.path(), {net})->update, 4);
}

TEST(ModuleCheckpoint, TheFilesOfModelAndOptimizerAreTheSameForEveryNumberOfRanks) {
  const OptimizerCase optimizer_case = testing::optimizer_cases()[1];
  std::vector<std::string> bytes;
  for (const int ranks : {1, 3}) {
    const TemporaryFolder folder(Medium::kMemory);
    EXPECT_EQ(run_ranks(ranks,
                        [&](Communicator& comm) {
                          Trained trained(optimizer_case, 1, 1.0);
                          SingleCommunicator alone;
                          trained.train(alone, 1, 2);
                          checkpoint::save(world_of(comm), folder.path(), {*trained.net, trained.optimizer.get()}, {});
                        }),
              nothing_thrown(ranks));
    bytes.push_back(file_text(folder.path() / "step-0000/model.safetensors") +
                    file_text(folder.path() / "step-0000/optimizer.safetensors"));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

}  // namespace
}  // namespace samegrad
