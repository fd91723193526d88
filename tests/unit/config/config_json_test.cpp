#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "samegrad/config/fields.h"
#include "samegrad/config/load.h"
#include "samegrad/config/run_paths.h"
#include "tests/unit/config/refusal.h"

namespace samegrad {
namespace {

/// A valid config that differs from the defaults in every field that may.
RunConfig unusual_config() {
  const std::vector<std::string> overrides = {
      "data.train=a.jsonl",    "data.validation=b.txt",      "data.skip_bad_lines=true",
      "seed=9007199254740991", "optimizer.epsilon=1e-30",    "optimizer.learning_rate=0.1234567890123456789",
      "schedule.kind=linear",  "schedule.minimum_factor=0.3"};
  return load_config(SAMEGRAD_CONFIGS "/text.yaml", overrides);
}

TEST(ConfigJson, ReadsBackWhatItWrote) {
  const RunConfig config = unusual_config();
  const Json json = Json::parse(config_to_json(config).dump());
  EXPECT_EQ(config_to_json(config_from_json(json)), config_to_json(config));
  EXPECT_EQ(config_from_json(json).optimizer.learning_rate, 0.1234567890123456789);
  EXPECT_EQ(config_from_json(json).seed, 9007199254740991);
}

TEST(ConfigJson, HoldsEveryFieldInOrder) {
  RunConfig config;
  config.plan.balance = "lpt";
  const Json json = config_to_json(config);
  std::size_t count = 0;
  std::vector<std::string> sections;
  for (const auto& [key, value] : json.items()) {
    sections.push_back(key);
    count += value.is_object() ? value.size() : 1;
  }
  EXPECT_EQ(count, config_fields().size());
  EXPECT_EQ(sections, (std::vector<std::string>{"seed", "data", "plan", "model", "objective", "optimizer", "schedule",
                                                "evaluation", "checkpoint", "logging", "run"}));
  EXPECT_EQ(json["model"]["feed_forward"], 256);
}

// Runs from before there were costs have none in their checkpoints, and go on.
TEST(ConfigJson, HoldsTheCostsOfABalanceOnlyUnderIt) {
  RunConfig config;
  EXPECT_FALSE(config_to_json(config)["plan"].contains("cost_per_token"));
  EXPECT_NO_THROW(config_from_json(config_to_json(config)));
  config.plan.balance = "lpt";
  config.plan.cost_per_token_pair = 0.1;
  const Json json = config_to_json(config);
  EXPECT_EQ(json["plan"]["cost_per_token"], 0.0);
  EXPECT_EQ(config_from_json(json).plan.cost_per_token_pair, 0.1);
  Json incomplete = json;
  incomplete["plan"].erase("cost_per_token");
  EXPECT_EQ(refusal([&] { config_from_json(incomplete); }), "[config] JSON config: no 'plan.cost_per_token'");
}

TEST(ConfigJson, RefusesMissingUnknownAndMistypedMembers) {
  const auto refused_after = [](void (*spoil)(Json&)) {
    Json json = config_to_json(RunConfig{});
    spoil(json);
    return refusal([&] { config_from_json(json); });
  };
  EXPECT_EQ(refused_after([](Json& j) { j["plan"].erase("updates"); }), "[config] JSON config: no 'plan.updates'");
  EXPECT_EQ(refused_after([](Json& j) { j.erase("seed"); }), "[config] JSON config: no 'seed'");
  EXPECT_EQ(refused_after([](Json& j) { j.erase("model"); }), "[config] JSON config: no 'model.kind'");
  EXPECT_EQ(refused_after([](Json& j) { j["plan"]["more"] = 1; }), "[config] JSON config: unknown key 'plan.more'");
  EXPECT_EQ(refused_after([](Json& j) { j["more"] = Json::object(); }), "[config] JSON config: unknown key 'more'");
  EXPECT_EQ(refused_after([](Json& j) { j["plan"] = 3; }), "[config] JSON config: plan is no object");
  EXPECT_NE(refused_after([](Json& j) { j["plan"]["updates"] = "3"; }).find("plan.updates: '3' is of another type"),
            std::string::npos);
  EXPECT_NE(refused_after([](Json& j) { j["seed"] = 18446744073709551615U; }).find("seed: 18446744073709551615"),
            std::string::npos);
  EXPECT_NE(refused_after([](Json& j) { j["plan"]["updates"] = 1.5; }).find("plan.updates: 1.5"), std::string::npos);
  EXPECT_NE(refusal([] { config_from_json(Json::array()); }).find("no object"), std::string::npos);
}

// As in what an older version saved.
TEST(ConfigJson, AMissingKeyThatDecidesNoBitsHasItsDefault) {
  RunConfig config;
  config.data.prefetch = 0;
  Json json = config_to_json(config);
  EXPECT_EQ(config_from_json(json).data.prefetch, 0);
  json["data"].erase("prefetch");
  EXPECT_EQ(config_from_json(json).data.prefetch, 1);
}

TEST(ConfigDigest, OfARunThatIsNotBalancedLeavesItsCostsOut) {
  RunConfig config;
  const std::string digest = config_digest(config);
  config.plan.cost_per_token = 1.0;
  EXPECT_EQ(config_digest(config), digest);
}

TEST(ConfigDigest, ChangesWithWhatDecidesBitsAndWithNothingElse) {
  RunConfig config;
  config.plan.balance = "lpt";
  const std::string digest = config_digest(config);
  EXPECT_EQ(digest.size(), 64U);
  for (const Field& field : config_fields()) {
    RunConfig other = config;
    const auto change = [](auto* value) {
      if constexpr (std::is_same_v<decltype(value), std::string*>) {
        *value += "x";
      } else if constexpr (std::is_same_v<decltype(value), bool*>) {
        *value = !*value;
      } else if constexpr (std::is_same_v<decltype(value), std::vector<double>*>) {
        value->push_back(1);
      } else {
        *value += 1;
      }
    };
    std::visit(change, field.target(other));
    const std::string section = field.section();
    const bool same = section == "run" || section == "logging" || section == "checkpoint" || section == "evaluation" ||
                      field.key == "plan.stop_at" || field.key == "data.train" || field.key == "data.validation" ||
                      field.key == "data.prefetch" || field.key == "model.gradient_checkpointing";
    EXPECT_EQ(config_digest(other) == digest, same) << field.key;
  }
}

TEST(RunPaths, LieInTheRunsFolderAndAreAllListed) {
  const RunPaths paths("/some/run");
  EXPECT_EQ(paths.reference64, "/some/run/outputs/reference-float64.safetensors");
  EXPECT_EQ(paths.checkpoints, "/some/run/artifacts/checkpoints");
  EXPECT_EQ(paths.final_parameters("resumed"), "/some/run/outputs/final-resumed.safetensors");
  EXPECT_EQ(paths.lesson_split("test"), "/some/run/outputs/data/test.jsonl");
  EXPECT_EQ(paths.text_index("train"), "/some/run/outputs/data/index-train.bin");
  EXPECT_EQ(paths.known_text("train"), "/some/run/outputs/data/index-train.known.json");
  const auto listed = paths.generated_files();
  for (const auto& path :
       {paths.plan, paths.init, paths.data_lock, paths.reference32, paths.metrics, paths.report,
        paths.final_parameters("stopped"), paths.lesson_split("train"), paths.text_index("validation")}) {
    EXPECT_EQ(std::count(listed.begin(), listed.end(), path), 1) << path;
  }
}

}  // namespace
}  // namespace samegrad
