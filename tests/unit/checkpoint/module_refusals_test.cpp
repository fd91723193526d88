// What does not fit is refused by name, on all ranks, and nothing has been changed then.
#include "tests/unit/checkpoint/module_refusals.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

#include <limits>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/module_checkpoint.h"
#include "samegrad/comm/single_communicator.h"
#include "tests/unit/checkpoint/module_net.h"
#include "tests/unit/checkpoint/small_checkpoint.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using checkpoint::Training;
using testing::alone;
using testing::expect_words;
using testing::Net;
using testing::Refusals;
using testing::run_ranks;
using testing::sgd;
using testing::small_module;
using testing::world_of;

TEST_F(Refusals, WhatFitsIsLoaded) {
  const auto module = small_module();
  const auto optimizer = sgd(*module);
  checkpoint::load(alone(), path_, {*module, optimizer.get()});
  EXPECT_EQ(module->parameters()[1][0].item<float>(), 1.0F - 0.1F * 0.5F);
  EXPECT_EQ(optimizer->state().size(), 2U);
}

TEST_F(Refusals, AModelThatDiffersIsRefusedByTensor) {
  auto missing = std::make_shared<torch::nn::Module>();
  missing->register_parameter("a", at::ones({2, 3}));
  missing->register_buffer("c", at::ones({1}, at::kLong));
  expect_words(refusal_of_model(missing), {"model.safetensors", "'b'", "surplus"});
  expect_words(refusal_of_model(small_module([](auto& m) { m.register_parameter("d", at::ones({1})); })),
               {"model.safetensors", "'d'", "missing"});
  expect_words(refusal_of_model(small_module([](auto& m) { m.register_buffer("e", at::ones({1})); })),
               {"'e'", "missing"});
  auto shaped = std::make_shared<torch::nn::Module>();
  shaped->register_parameter("a", at::ones({3, 2}));
  shaped->register_parameter("b", at::ones({4}));
  expect_words(refusal_of_model(shaped), {"'a'", "[2, 3]", "[3, 2]"});
  auto typed = std::make_shared<torch::nn::Module>();
  typed->register_parameter("a", at::ones({2, 3}));
  typed->register_parameter("b", at::ones({4}, at::kDouble));
  expect_words(refusal_of_model(typed), {"'b'", "Float", "Double"});
}

TEST_F(Refusals, TiedHereAndNotThereIsRefusedInBothDirections) {
  const auto tied = [](torch::nn::Module& m) { m.register_parameter("d", m.named_parameters()["b"]); };
  const auto untied = [](torch::nn::Module& m) { m.register_parameter("d", at::ones({4})); };
  const auto saved_tied = small_module(tied);
  const auto path = checkpoint::save(alone(), folder_.path(), {*saved_tied}, {.update = 2});
  const auto own = small_module(untied);
  expect_words(error_text<CheckError>([&] { checkpoint::load(alone(), path, {*own}); }), {"'d'", "tied to 'b'"});
  const auto other = checkpoint::save(alone(), folder_.path(), {*own}, {.update = 3});
  expect_words(error_text<CheckError>([&] { checkpoint::load(alone(), other, {*saved_tied}); }),
               {"'d'", "tied to 'b'"});
}

TEST_F(Refusals, AnOptimizerThatDiffersIsRefusedByKindAndGroup) {
  Net net(1);
  const auto module = small_module();
  expect_words(refusal(*module, nullptr), {"optimizer.safetensors", "\"SGD\"", "none", "load_model"});
  torch::optim::Adam adam(module->parameters());
  expect_words(refusal(*module, &adam), {"\"SGD\"", "\"Adam\""});
  const std::vector<at::Tensor> parameters = module->parameters();
  torch::optim::SGD two(
      {torch::optim::OptimizerParamGroup({parameters[0]}), torch::optim::OptimizerParamGroup({parameters[1]})},
      torch::optim::SGDOptions(0.1));
  expect_words(refusal(*module, &two), {"1 groups", "2"});
  torch::optim::SGD turned({parameters[1], parameters[0]}, torch::optim::SGDOptions(0.1));
  expect_words(refusal(*module, &turned), {"group 0", "[\"a\",\"b\"]", "[\"b\",\"a\"]"});
  torch::optim::StepLR scheduler(turned, 2);
  const auto fitting = sgd(*module);
  expect_words(error_text<CheckError>([&] {
                 checkpoint::load(alone(), path_, {*module, fitting.get(), &scheduler});
               }),
               {"state.json", "scheduler"});
}

TEST_F(Refusals, WhatCannotBeSavedExactlyIsRefusedByName) {
  const auto refusal_to_save = [&](const Training& training, const checkpoint::Progress& progress = {.update = 7}) {
    const std::string text =
        error_text<InputError>([&] { checkpoint::save(alone(), folder_.path(), training, progress); });
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "step-0007"));
    return text;
  };
  const auto module = small_module();
  torch::optim::LBFGS lbfgs(module->parameters());
  expect_words(refusal_to_save({*module, &lbfgs}), {"LBFGS", "history", "AdamW"});
  struct Own : torch::optim::SGD {
    using SGD::SGD;
  } own(module->parameters(), torch::optim::SGDOptions(0.1));
  expect_words(refusal_to_save({*module, &own}), {"kind of its own"});
  torch::optim::SGD foreign({at::ones({1}).requires_grad_()}, torch::optim::SGDOptions(0.1));
  expect_words(refusal_to_save({*module, &foreign}), {"parameter 0 of group 0", "none of the model's"});
  torch::optim::SGD endless(module->parameters(), torch::optim::SGDOptions(std::numeric_limits<double>::infinity()));
  expect_words(refusal_to_save({*module, &endless}), {"option lr", "inf"});
  const auto complex = small_module([](auto& m) { m.register_buffer("z", at::zeros({2}, at::kComplexFloat)); });
  expect_words(refusal_to_save({*complex}), {"'z'", "ComplexFloat", "view_as_real"});
  const auto spread = small_module([](auto& m) { m.register_buffer("s", at::zeros({1}).expand({5})); });
  expect_words(refusal_to_save({*spread}), {"'s'", "share memory"});
  const auto sparse = small_module([](auto& m) { m.register_buffer("p", at::eye(2).to_sparse()); });
  expect_words(refusal_to_save({*sparse}), {"'p'", "dense"});
  expect_words(refusal_to_save({*module}, {.update = 7, .extra = {{"x", {{"y", std::nan("")}}}}}), {"extra", "/x/y"});
  expect_words(refusal_to_save({*module}, {.update = 7, .extra = {{"x", "\xff"}}}), {"extra"});
  expect_words(refusal_to_save({*module}, {.update = -1}), {"update", "-1"});
}

TEST_F(Refusals, DamageAndExchangedFilesAreFoundAndLatestPassesOver) {
  const auto module = small_module();
  const auto optimizer = sgd(*module);
  const auto newer = checkpoint::save(alone(), folder_.path(), {*module, optimizer.get()}, {.update = 2});
  std::string bytes = file_text(newer / "optimizer.safetensors");
  write_text(newer / "optimizer.safetensors", file_text(path_ / "optimizer.safetensors"));
  const auto load = [&](const std::filesystem::path& path) {
    return error_text<CheckError>([&] { checkpoint::load(alone(), path, {*module, optimizer.get()}); });
  };
  expect_words(load(newer), {"step-0002/optimizer.safetensors"});
  write_text(newer / "optimizer.safetensors", bytes);
  EXPECT_EQ(load(newer), "");
  bytes = file_text(newer / "model.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(newer / "model.safetensors", bytes);
  expect_words(load(newer), {"step-0002/model.safetensors", "damaged"});
  std::vector<std::int64_t> found(2);
  const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
    ASSERT_EQ(comm.size(), 2);
    const auto mine = small_module();
    const auto steps = sgd(*mine);
    found[static_cast<std::size_t>(comm.rank())] =
        checkpoint::load_latest(world_of(comm), folder_.path(), {*mine, steps.get()})->update;
  });
  EXPECT_EQ(errors, testing::nothing_thrown(2));
  EXPECT_EQ(found, (std::vector<std::int64_t>{1, 1}));
  EXPECT_FALSE(checkpoint::load_latest(alone(), folder_.path() / "nowhere", {*module}).has_value());
  EXPECT_NE(error_text<InputError>([&] { checkpoint::load(alone(), folder_.path() / "nowhere", {*module}); }), "");
}

TEST_F(Refusals, WhereOneRankCannotLoadNoRankChanges) {
  const std::vector<std::string> errors = run_ranks(2, [&](Communicator& comm) {
    const auto module =
        comm.rank() == 0 ? small_module() : small_module([](auto& m) { m.register_buffer("e", at::ones({1})); });
    const auto optimizer = sgd(*module);
    try {
      checkpoint::load(world_of(comm), path_, {*module, optimizer.get()});
    } catch (const CheckError&) {
      EXPECT_TRUE(at::equal(module->parameters()[0], at::ones({2, 3})));
      EXPECT_TRUE(optimizer->state().empty());
      throw;
    }
  });
  expect_words(errors[0], {"'e'", "missing"});
  EXPECT_EQ(errors[0], errors[1]);
}

TEST_F(Refusals, RanksThatDoNotHoldTheSameValuesSaveNothing) {
  const auto save = [&](const std::function<void(torch::nn::Module&, checkpoint::Progress&)>& change) {
    return run_ranks(2, [&](Communicator& comm) {
      ASSERT_EQ(comm.size(), 2);
      const auto module = small_module();
      checkpoint::Progress progress{.update = 7, .extra = {{"cursor", 1}}};
      if (comm.rank() == 1) change(*module, progress);
      checkpoint::save(world_of(comm), folder_.path(), {*module}, progress);
    });
  };
  const std::vector<std::string> weights =
      save([](torch::nn::Module& module, auto&) { module.parameters()[1].detach()[2] += 1e-7; });
  expect_words(weights[0], {"parameter 'b' of rank 1"});
  EXPECT_EQ(weights[0], weights[1]);
  expect_words(save([](auto&, auto& progress) { progress.extra["cursor"] = 2; })[1], {"extra of rank 1", "rank_extra"});
  expect_words(save([](auto&, auto& progress) { progress.update = 8; })[0], {"update of rank 1", "(8, not 7)"});
  expect_words(save([](auto&, auto& progress) { progress.rank_extra = 8; })[0], {"having rank_extra of rank 1"});
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"step-0001"});
  EXPECT_EQ(save([](auto& module, auto&) { module.buffers()[0] += 1; }), testing::nothing_thrown(2));
}

TEST_F(Refusals, StatesOfGeneratorsNeedAsManyRanksAndTheSameNames) {
  const auto module = small_module();
  at::Generator random = at::detail::createCPUGenerator(1);
  EXPECT_EQ(run_ranks(2,
                      [&](Communicator& comm) {
                        const auto mine = small_module();
                        const at::Generator own = at::detail::createCPUGenerator(1);
                        checkpoint::save(world_of(comm), folder_.path(),
                                         {.model = *mine, .generators = {{"noise", own}}}, {.update = 4});
                      }),
            testing::nothing_thrown(2));
  const auto path = folder_.path() / "step-0004";
  const std::string one = error_text<InputError>([&] {
    checkpoint::load(alone(), path, {.model = *module, .generators = {{"noise", random}}});
  });
  expect_words(one, {"noise", "2 ranks", "here are 1"});
  const std::vector<std::string> names = run_ranks(2, [&](Communicator& comm) {
    const auto mine = small_module();
    checkpoint::load(world_of(comm), path, {*mine});
  });
  expect_words(names[0], {"rank-0.json", "\"noise\""});
  expect_words(error_text<CheckError>([&] {
                 checkpoint::load(alone(), path_, {.model = *module, .generators = {{"noise", random}}});
               }),
               {"SGD"});
}

}  // namespace
}  // namespace samegrad
