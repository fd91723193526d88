// Ranks that would save to different places, and optimizer files that somebody made: refused, and nothing has changed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include "samegrad/checkpoint/checkpoint.h"
#include "tests/unit/checkpoint/module_refusals.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using testing::alone;
using testing::expect_words;
using testing::Refusals;
using testing::run_ranks;
using testing::sgd;
using testing::small_module;
using testing::world_of;

TEST_F(Refusals, RanksThatGiveDifferentPlacesSaveNothingAndAllSaySo) {
  const auto save = [&](const std::string& folder, std::int64_t keep, bool async) {
    return run_ranks(2, [&, folder, keep](Communicator& comm) {
      ASSERT_EQ(comm.size(), 2);
      const auto module = small_module();
      const std::filesystem::path mine = folder_.path() / (comm.rank() == 0 ? "a" : folder);
      const World world = world_of(comm);
      checkpoint::AsyncSaver saver;
      if (async) {
        saver.save(world, mine, {*module}, {.update = 7}, comm.rank() == 0 ? 0 : keep);
        saver.wait(world);
      } else {
        checkpoint::save(world, mine, {*module}, {.update = 7}, comm.rank() == 0 ? 0 : keep);
      }
    });
  };
  for (const bool async : {false, true}) {
    const std::vector<std::string> errors = save("b", 0, async);
    expect_words(errors[0], {"folder of rank 1 is not rank 0's", "/a/\"", "/b/\""});
    EXPECT_EQ(errors[0], errors[1]);
    expect_words(save("a", 3, async)[1], {"keep of rank 1 is not rank 0's (3, not 0)"});
    const std::string long_name(250, 'x');
    EXPECT_NE(save("a/../" + long_name, 0, async)[1], "");
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "b"));
    EXPECT_EQ(save("c/../a/", 0, async), testing::nothing_thrown(2));
    std::filesystem::remove_all(folder_.path() / "a");
  }
}

TEST_F(Refusals, AForgedOptimizerFileIsRefusedAndNothingIsHalfLoaded) {
  const SafetensorsFile file(path_ / kOptimizerFile);
  const std::vector<TensorView> good = file.tensors();
  const Json options = read_optimizer_options(file);
  const auto module = small_module();
  const auto optimizer = sgd(*module);
  const auto refused = [&](const std::vector<TensorView>& tensors, const Json& said) {
    const auto aside = folder_.path() / "aside";  // `good` points into the file
    write_text(aside, safetensors_bytes(tensors, {{kOptimizerOptionsKey, said.dump()}}));
    const std::string bytes = file_text(aside);
    std::filesystem::remove(path_ / kOptimizerFile);
    forge(path_, 1, bytes);
    static_cast<torch::optim::SGDOptions&>(optimizer->param_groups()[0].options()).lr(0.25);
    const std::string text = refusal(*module, optimizer.get());
    EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.25);
    expect_words(text, {"optimizer.safetensors: "});
    EXPECT_EQ(text.find("json.exception"), std::string::npos) << text;
  };
  for (const char* change :
       {R"({"kind":3})", R"({"kind":null})", R"({"groups":null})", R"({"groups":{}})", R"({"groups":[]})",
        R"({"groups":[3]})", R"({"groups":[{"parameters":["a","b"]}]})",
        R"({"groups":[{"parameters":["a","b"],"options":[]}]})", R"({"groups":[{"parameters":["a","b"],"options":3}]})",
        R"({"groups":[{"parameters":"a","options":{}}]})"}) {
    Json said = options;
    said.update(Json::parse(change));
    refused(good, said);
  }
  Json text_rate = options;
  text_rate["groups"][0]["options"]["lr"] = "0.1";
  refused(good, text_rate);
  Json more = options;
  more["groups"][0]["options"]["more"] = 1;
  refused(good, more);
  std::vector<TensorView> other = good;
  other[1].name = "b.exp_avg";
  refused(other, options);  // one parameter's state fits, the other's does not
  other = good;
  other[0].shape = {6};
  refused(other, options);
}

TEST_F(Refusals, ANegativeNumberOfStepsIsRefused) {
  const auto module = small_module();
  torch::optim::Adam adam(module->parameters());
  for (at::Tensor parameter : module->parameters()) parameter.mutable_grad() = at::full_like(parameter, 0.5);
  adam.step();
  for (const auto& [key, state] : adam.state()) static_cast<torch::optim::AdamParamState&>(*state).step(-1);
  path_ = checkpoint::save(alone(), folder_.path(), {*module, &adam}, {.update = 5});
  torch::optim::Adam fresh(module->parameters());
  expect_words(refusal(*module, &fresh), {"optimizer.safetensors: tensor 'a.step' is -1 steps"});
}

}  // namespace
}  // namespace samegrad
