#include "samegrad/config/load.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "samegrad/config/fields.h"
#include "tests/unit/config/refusal.h"

namespace samegrad {
namespace {

namespace fs = std::filesystem;

class LoadConfig : public ::testing::Test {
 protected:
  RunConfig load(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    std::ofstream(file_, std::ios::binary) << yaml;
    return load_config(file_, overrides);
  }
  std::string refused(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    return refusal([&] { load(yaml, overrides); });
  }
  void TearDown() override { fs::remove(file_); }

  const fs::path file_ = fs::temp_directory_path() / ("samegrad-load-" + std::to_string(getpid()) + ".yaml");
};

std::string set_refused(const std::string& text) {
  return refusal([&] { load_config({}, std::vector<std::string>{text}); });
}

RunConfig with(const std::vector<std::string>& overrides) { return load_config({}, overrides); }

TEST_F(LoadConfig, WithoutAFileIsTheLessonOfMinimumYaml) {
  const RunConfig from_file = load_config(SAMEGRAD_CONFIGS "/minimum.yaml", {});
  EXPECT_EQ(config_to_json(load_config({}, {})), config_to_json(from_file));
  EXPECT_EQ(from_file.plan.stop_at, 50);
}

TEST_F(LoadConfig, EveryShippedConfigLoads) {
  EXPECT_EQ(load_config(SAMEGRAD_CONFIGS "/exercise.yaml", {}).model.width, 128);
  const std::vector<std::string> data = {"data.train=some.jsonl"};
  const RunConfig text = load_config(SAMEGRAD_CONFIGS "/text.yaml", data);
  EXPECT_EQ(text.data.train, "some.jsonl");
  EXPECT_EQ(text.plan.epochs, 1);
  EXPECT_EQ(text.plan.updates, 0);
}

TEST_F(LoadConfig, TextIsBalancedAndTheLessonIsNotWhereNobodySaysOtherwise) {
  const std::string text = "data: {task: text, train: a.jsonl}\nmodel: {kind: decoder, vocabulary: 256}\n";
  EXPECT_EQ(load("").plan.balance, "none");
  EXPECT_EQ(load("plan: {balance: lpt}\n").plan.balance, "lpt");
  EXPECT_EQ(load(text).plan.balance, "lpt");
  EXPECT_EQ(load(text + "plan: {balance: none}\n").plan.balance, "none");
  EXPECT_EQ(load(text, {"plan.balance=none"}).plan.balance, "none");
  EXPECT_EQ(with({"data.task=text", "data.train=a.jsonl", "model.kind=decoder", "model.vocabulary=256"}).plan.balance,
            "lpt");
}

TEST_F(LoadConfig, KeepsDefaultsOfWhatAFileLeavesOut) {
  RunConfig expected;
  expected.plan.updates = 7;
  EXPECT_EQ(config_to_json(load("plan:\n  updates: 7\n")), config_to_json(expected));
  EXPECT_EQ(config_to_json(load("")), config_to_json(RunConfig{}));
  EXPECT_EQ(config_to_json(load("# nothing\nplan:\n")), config_to_json(RunConfig{}));
}

TEST_F(LoadConfig, ReadsEveryType) {
  const RunConfig config = load(
      "seed: 7\n"
      "data: {skip_bad_lines: true, validation: ~}\n"
      "optimizer:\n  learning_rate: 1e-3\n  momentum: 0\n  kind: 'sgd'\n");
  EXPECT_EQ(config.seed, 7);
  EXPECT_TRUE(config.data.skip_bad_lines);
  EXPECT_EQ(config.data.validation, "");
  EXPECT_EQ(config.optimizer.learning_rate, 0.001);
  EXPECT_EQ(config.optimizer.momentum, 0.0);
}

TEST_F(LoadConfig, OverridesComeAfterTheFileAndTheLastOneCounts) {
  const RunConfig config =
      load("plan:\n  updates: 7\n", {"plan.updates=8", "plan.updates=9", "optimizer.learning_rate=10"});
  EXPECT_EQ(config.plan.updates, 9);
  EXPECT_EQ(config.optimizer.learning_rate, 10.0);
}

TEST_F(LoadConfig, TakesHuggingFaceNames) {
  const RunConfig config = load("gradient_accumulation_steps: 3\n", {"max_steps=11", "per_device_train_batch_size=5",
                                                                     "adam_beta2=0.95", "lr_scheduler_type=cosine"});
  EXPECT_EQ(config.plan.accumulation, 3);
  EXPECT_EQ(config.plan.updates, 11);
  EXPECT_EQ(config.plan.batch_size_per_rank, 5);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.schedule.kind, "cosine");
}

TEST_F(LoadConfig, UpdatesAndEpochsReplaceEachOther) {
  const std::string text = "data: {task: text, train: a.txt}\nmodel: {kind: decoder, vocabulary: 256}\n";
  const RunConfig epochs = load(text + "plan: {epochs: 2}\n");
  EXPECT_EQ(epochs.plan.epochs, 2);
  EXPECT_EQ(epochs.plan.updates, 0);
  const RunConfig updates = load(text + "plan: {epochs: 2}\n", {"plan.updates=20"});
  EXPECT_EQ(updates.plan.epochs, 0);
  EXPECT_EQ(updates.plan.updates, 20);
  EXPECT_NE(refused(text + "plan: {epochs: 2, updates: 20}\n").find("give one of them"), std::string::npos);
}

TEST_F(LoadConfig, RefusesUnknownNamesWithTheNearestOneAndThePlace) {
  const std::string place = "[config] " + file_.string();
  EXPECT_EQ(refused("seed: 1\nplan:\n  update: 3\n"),
            place + ":3: unknown key 'plan.update', did you mean 'plan.updates'?");
  EXPECT_EQ(refused("plans:\n  updates: 3\n"), place + ":1: unknown section 'plans', did you mean 'plan'?");
  EXPECT_EQ(refused("lerning_rate: 3\n"), place + ":1: unknown key 'lerning_rate', did you mean 'learning_rate'?");
  EXPECT_EQ(refused("zzzzzzzz: 3\n"), place +
                                          ":1: unknown key 'zzzzzzzz'; `samegrad config` lists all; leave it "
                                          "out where samegrad has no such setting");
  EXPECT_EQ(set_refused("accumulation=3"),
            "[config] --set accumulation=3: unknown key 'accumulation', did you mean 'plan.accumulation'?");
  EXPECT_NE(set_refused("plan.updates").find("needs key=value"), std::string::npos);
}

TEST_F(LoadConfig, TellsAllFaultsOfASourceByOneError) {
  const std::string at = " " + file_.string() + ":";
  const std::string names = refused(
      "fp16: true\nseed: 3\nbf16: true\nplan:\n  update: 3\n  updates: 5\nzzzzzzzz: 3\nlabel_smoothing_factor: 0.1\n");
  EXPECT_TRUE(names.starts_with("[config] 5 faults (1)" + at + "1: fp16: 'true' is not offered: ")) << names;
  for (const std::string& part : {"(2)" + at + "3: bf16: ", "(3)" + at + "5: unknown key 'plan.update'",
                                  "(4)" + at + "7: unknown key", "(5)" + at + "8: label_smoothing_factor: "}) {
    EXPECT_NE(names.find(part), std::string::npos) << part << " in " << names;
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), '\n'), 0);
  const std::string values = refused("seed: a\nplan:\n  updates: b\n");
  EXPECT_TRUE(values.starts_with("[config] 2 faults (1)" + at + "1: seed: 'a' ")) << values;
  EXPECT_NE(values.find("(2)" + at + "3: plan.updates: 'b' "), std::string::npos) << values;
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "zzzzzzzz" + std::to_string(i) + ": 1\n";
  EXPECT_TRUE(refused(many).starts_with("[config] the first 20 faults (1)" + at + "1: unknown key"));
  EXPECT_LT(refused(many).size(), 5'000U);
  EXPECT_TRUE(set_refused("accumulation=3").starts_with("[config] --set accumulation=3: "));
}

TEST_F(LoadConfig, RefusesWrongTypesNamingValueAndWhatIsAllowed) {
  const std::string place = "[config] " + file_.string();
  EXPECT_EQ(refused("\nplan:\n  updates: many\n"),
            place + ":3: plan.updates: 'many' is no whole number of 64 bits; allowed: a whole number, 0 to 1000000000");
  EXPECT_EQ(refused("optimizer:\n  kind: adam\n"),
            place + ":2: optimizer.kind: 'adam' is unknown; allowed: one of: sgd, adamw");
  EXPECT_EQ(set_refused("data.skip_bad_lines=1"),
            "[config] --set data.skip_bad_lines=1: data.skip_bad_lines: '1' is neither true nor false; "
            "allowed: true or false");
  EXPECT_NE(refused("plan: {updates: [1, 2]}\n").find("plan.updates: not a single value"), std::string::npos);
  EXPECT_NE(refused("plan:\n  updates:\n").find("plan.updates: no value"), std::string::npos);
  EXPECT_NE(refused("plan: 3\n").find("section 'plan' needs indented lines"), std::string::npos);
  EXPECT_NE(refused("- plan\n").find("no mapping of sections"), std::string::npos);
  EXPECT_NE(refused("[1]: 3\n").find("a key must be a plain name"), std::string::npos);
}

TEST_F(LoadConfig, AListIsGivenInBracketsOrWithCommas) {
  const std::vector<double> list{1, 2.5, 0, 1e-3};
  EXPECT_EQ(load("objective:\n  class_weights: [1, 2.5, 0, 1e-3]\n").objective.class_weights, list);
  EXPECT_EQ(load("objective:\n  class_weights:\n    - 1\n    - 2.5\n    - 0\n    - 1e-3\n").objective.class_weights,
            list);
  EXPECT_EQ(load("", {"objective.class_weights=1,2.5,0,1e-3"}).objective.class_weights, list);
  EXPECT_EQ(load("", {"objective.class_weights=[ 1 , 2.5, 0, 1e-3]"}).objective.class_weights, list);
  for (const char* value : {"", "[]"}) {
    EXPECT_TRUE(load("", {std::string("objective.class_weights=") + value}).objective.class_weights.empty());
  }
  for (const char* value : {"1,,2,3,4", "1,2,3,", "a", "[1,2", "1 2 3 4"}) {
    EXPECT_NE(set_refused(std::string("objective.class_weights=") + value).find("is no list of numbers"),
              std::string::npos)
        << value;
  }
  for (const char* value : {"1,2,-3,4", "1,nan,3,4", "1,2,inf,4"}) {
    EXPECT_NE(
        set_refused(std::string("objective.class_weights=") + value).find("negative or not finite; allowed: a list"),
        std::string::npos)
        << value;
  }
  EXPECT_NE(refused("objective: {class_weights: [[1], 2]}\n").find("not a list of single values"), std::string::npos);
}

TEST_F(LoadConfig, RefusesNumbersThatAreNone) {
  for (const char* value :
       {"9223372036854775808", "1e3", "1.5", "0x10", "", " 5", "5 ", "+5", "99999999999999999999"}) {
    EXPECT_NE(set_refused(std::string("seed=") + value).find("no whole number"), std::string::npos) << value;
  }
  for (const char* value : {"nan", "inf", "-inf"}) {
    EXPECT_NE(set_refused(std::string("optimizer.learning_rate=") + value).find("not finite"), std::string::npos);
  }
  for (const char* value : {"1e999", "1,5", "0.1x", "", ".inf"}) {
    EXPECT_NE(set_refused(std::string("optimizer.learning_rate=") + value).find("no number"), std::string::npos)
        << value;
  }
}

TEST_F(LoadConfig, RefusesKeysGivenTwice) {
  EXPECT_EQ(refused("plan:\n  updates: 3\n  updates: 4\n"),
            "[config] " + file_.string() + ":3: plan.updates: given twice");
  EXPECT_NE(refused("plan:\n  updates: 3\nplan:\n  accumulation: 4\n").find(":3: section 'plan' is given twice"),
            std::string::npos);
  EXPECT_NE(refused("plan:\n  updates: 3\nmax_steps: 4\n")
                .find(":3: max_steps: given twice, as plan.updates at " + file_.string() + ":2"),
            std::string::npos);
}

TEST_F(LoadConfig, RefusesWhatIsNotBuiltByName) {
  EXPECT_NE(set_refused("run.device=cuda").find("'cuda' is not built: CPU only today"), std::string::npos);
  for (const char* backend : {"nccl", "mpi"}) {
    EXPECT_NE(set_refused(std::string("run.backend=") + backend).find("is not built"), std::string::npos) << backend;
  }
  EXPECT_NE(set_refused("plan.balance=longest").find("allowed: one of: none, lpt"), std::string::npos);
}

TEST_F(LoadConfig, RefusesFilesThatAreNoConfig) {
  EXPECT_NE(refused("plan: [\n").find(file_.string() + ":"), std::string::npos);
  for (const char* text : {"a: 1\n---\nb: 2\n", ",", "\n, a: 1"}) {
    EXPECT_NE(refused(text).find("more than one YAML document"), std::string::npos) << text;
  }
  EXPECT_NE(refused(std::string(100'000, '[')).find("not YAML"), std::string::npos);
  EXPECT_NE(refused(std::string((256 << 10) + 1, '#')).find("a config has at most 262144"), std::string::npos);
  EXPECT_NE(refusal([] { load_config("/nonexistent.yaml", {}); }).find("/nonexistent.yaml"), std::string::npos);
  EXPECT_NE(refusal([] { load_config(fs::temp_directory_path(), {}); }).find("is a folder"), std::string::npos);
}

TEST_F(LoadConfig, DamagedFilesLoadOrAreRefusedAndNothingElse) {
  std::ifstream shipped(SAMEGRAD_CONFIGS "/minimum.yaml");
  std::stringstream original;
  original << shipped.rdbuf();
  EXPECT_TRUE(rc::check([&] {
    std::string yaml = original.str();
    for (const auto& [place, byte] : *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
             rc::gen::pair(rc::gen::inRange<std::size_t>(0, yaml.size()), rc::gen::arbitrary<char>()))) {
      yaml[place] = byte;
    }
    try {
      load(yaml);
    } catch (const InputError& error) {
      RC_ASSERT(std::string(error.what()).starts_with("[config] "));
    }
  }));
}

TEST(ConfigFields, HaveUniqueKeysAndAliases) {
  std::vector<std::string> names;
  for (const Field& field : config_fields()) {
    names.push_back(field.key);
    names.insert(names.end(), field.aliases.begin(), field.aliases.end());
  }
  for (const std::string& name : names) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(ConfigFields, PointToPlacesOfTheirOwn) {
  RunConfig config;
  std::vector<const void*> places;
  for (const Field& field : config_fields()) {
    places.push_back(std::visit([](auto* value) -> const void* { return value; }, field.target(config)));
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
  EXPECT_EQ(with({}).seed, 42);
}

}  // namespace
}  // namespace samegrad
