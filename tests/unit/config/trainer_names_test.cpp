// Configs written for the Hugging Face Trainer mean here what they mean there, or are refused by name.
#include "samegrad/config/trainer_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "samegrad/config/explain.h"
#include "samegrad/config/fields.h"
#include "samegrad/config/load.h"
#include "tests/unit/config/refusal.h"

namespace samegrad {
namespace {

RunConfig with(const std::vector<std::string>& overrides) { return load_config({}, overrides); }
std::string refused(const std::vector<std::string>& overrides) {
  return refusal([&] { with(overrides); });
}

/// A YAML file, removed at the end.
struct YamlFile {
  explicit YamlFile(const std::string& text) { std::ofstream(path) << text; }
  ~YamlFile() { std::filesystem::remove(path); }
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("samegrad-names-" + std::to_string(getpid()) + ".yaml");
};

TEST(TrainerNames, AWholeConfigOfTheTrainerLoads) {
  const YamlFile file(
      "seed: 7\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 3\nlearning_rate: 5.0e-2\n"
      "max_grad_norm: 1.0\nmax_steps: 30\nlr_scheduler_type: constant_with_warmup\nwarmup_steps: 5\n"
      "gradient_checkpointing: true\nsave_steps: 10\nsave_total_limit: 2\nlogging_steps: 5\nddp_backend: gloo\n"
      "ddp_timeout: 900\nddp_find_unused_parameters: true\nddp_bucket_cap_mb: 25\nddp_broadcast_buffers: ~\n"
      "num_processes: 3\noutput_dir: some/run\nresume_from_checkpoint: true\n");
  const RunConfig config = load_config(file.path, {});
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(config.plan.batch_size_per_rank, 4);
  EXPECT_EQ(config.plan.accumulation, 3);
  EXPECT_EQ(config.optimizer.learning_rate, 0.05);
  EXPECT_EQ(config.optimizer.max_grad_norm, 1.0);
  EXPECT_EQ(config.plan.updates, 30);
  EXPECT_EQ(config.schedule.kind, "constant");
  EXPECT_EQ(config.schedule.warmup_updates, 5);
  EXPECT_TRUE(config.model.gradient_checkpointing);
  EXPECT_EQ(config.checkpoint.every, 10);
  EXPECT_EQ(config.checkpoint.keep, 2);
  EXPECT_EQ(config.logging.every, 5);
  EXPECT_EQ(config.run.backend, "gloo");
  EXPECT_EQ(config.run.timeout_s, 900);
  ASSERT_EQ(config.notes.size(), 3U);
  EXPECT_TRUE(config.notes[1].starts_with("ddp_bucket_cap_mb: no effect here: "));
  const std::map<std::string, std::string> options = {{"--nproc", "3"}, {"--run", "some/run"}, {"--resume", "latest"}};
  EXPECT_EQ(option_values(file.path, {}), options);
}

TEST(TrainerNames, OverridesComeAfterTheFile) {
  const YamlFile file("num_processes: 3\nresume_from_checkpoint: some/step-0003\n");
  const std::vector<std::string> overrides = {"num_processes=2", "resume_from_checkpoint=false"};
  EXPECT_EQ(option_values(file.path, overrides),
            (std::map<std::string, std::string>{{"--nproc", "2"}, {"--resume", ""}}));
  EXPECT_EQ(option_values({}, {}), (std::map<std::string, std::string>()));
}

TEST(TrainerNames, ValuesThatAreWrittenOtherwiseAreTranslated) {
  const std::vector<std::string> text = {"data.task=text", "data.train=a.txt", "model.kind=decoder",
                                         "model.vocabulary=256", "plan.stop_at=0"};
  const auto of_text = [&](std::vector<std::string> more) {
    more.insert(more.begin(), text.begin(), text.end());
    return with(more);
  };
  EXPECT_EQ(of_text({"max_steps=-1", "num_train_epochs=3.0"}).plan.epochs, 3);
  EXPECT_EQ(of_text({"max_steps=-1", "num_train_epochs=3.0"}).plan.updates, 0);
  EXPECT_EQ(of_text({"num_train_epochs=2"}).plan.epochs, 2);
  EXPECT_EQ(with({"save_total_limit=None"}).checkpoint.keep, 0);
  EXPECT_EQ(with({"ddp_backend=null"}).run.backend, "auto");
  EXPECT_EQ(with({"lr_scheduler_type=constant"}).schedule.kind, "constant");
  EXPECT_EQ(with({"schedule.kind=constant", "warmup_steps=5"}).schedule.warmup_updates, 5);
}

TEST(TrainerNames, ValuesWithoutAMeaningHereAreRefusedWithWhatToWrite) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"max_steps=-1"}, "plan.updates and plan.epochs: both 0; give one of them"},
      {{"max_steps=-2"}, "out of range"},
      {{"num_train_epochs=2.5"},
       "'2.5' is a part of an epoch; give whole epochs, or the number of updates as max_steps"},
      {{"lr_scheduler_type=polynomial"},
       "'polynomial' is not offered; constant, constant_with_warmup, linear and cosine"},
      {{"lr_scheduler_type=cosine_with_min_lr"}, "schedule.minimum_factor"},
      {{"lr_scheduler_type=constant", "warmup_steps=5"}, "write constant_with_warmup, or warmup_steps: 0"},
      {{"save_steps=0.1"}, "'0.1' is a part of the run; give a number of updates"},
      {{"logging_steps=0.5"}, "a part of the run"},
      {{"ddp_find_unused_parameters=maybe"}, "neither true nor false"},
      {{"ddp_bucket_cap_mb=-1"}, "no number above 0"},
      {{"output_dir="}, "a folder is needed"},
      {{"ddp_bucket_cap=25"}, "did you mean 'ddp_bucket_cap_mb'?"},
      {{"num_process=2"}, "did you mean 'num_processes'?"}};
  for (const auto& [overrides, said] : cases) {
    const std::string text = refused(overrides);
    EXPECT_NE(text.find(said), std::string::npos) << text;
  }
}

TEST(TrainerNames, BackEndsThatAreNotBuiltAreRefusedWithWhatIsMissing) {
  for (const char* backend : {"nccl", "mpi", "xccl", "hccl", "cncl", "ccl"}) {
    const std::string text = refused({std::string("ddp_backend=") + backend});
    EXPECT_NE(text.find(std::string("run.backend: '") + backend + "' is not built: "), std::string::npos) << text;
    EXPECT_NE(text.find("allowed: one of: auto, shm, gloo"), std::string::npos) << text;
  }
  EXPECT_NE(refused({"ddp_backend=nccl"}).find("an NCCL back end are not written yet"), std::string::npos);
  EXPECT_NE(refused({"ddp_backend=mpi"}).find("an MPI back end is not written yet"), std::string::npos);
}

TEST(TrainerNames, AreEachAnAliasOrAnOptionOrWithoutEffect) {
  for (const TrainerName& name : trainer_names()) {
    const bool without_effect = name.meaning.starts_with("no effect here: ");
    EXPECT_EQ((find_field(name.name) != nullptr) + !name.option.empty() + without_effect, 1) << name.name;
  }
}

TEST(Explain, SaysWhatAKeyIsByEveryNameOfIt) {
  const RunConfig config = with({"max_steps=60"});
  const Explanation updates = explain_key("plan.updates", config);
  EXPECT_EQ(explain_key("max_steps", config).text, updates.text);
  for (const char* part :
       {"plan.updates: updates of the whole run", "value:   60", "default: 100", "allowed: a whole number, at least 0",
        "part of the config's digest", "also:    max_steps"}) {
    EXPECT_NE(updates.text.find(part), std::string::npos) << part << "\n" << updates.text;
  }
  EXPECT_EQ(updates.json["value"], 60);
  EXPECT_EQ(updates.json["decides_bits"], true);
  const Explanation backend = explain_key("ddp_backend", config);
  EXPECT_NE(backend.text.find("refused: nccl is not built"), std::string::npos) << backend.text;
  EXPECT_NE(backend.text.find("not part of the config's digest"), std::string::npos);
}

TEST(Explain, EveryKeyAndNameAndSectionHasOne) {
  const RunConfig config;
  for (const Field& field : config_fields()) {
    EXPECT_EQ(explain_key(field.key, config).json["key"], field.key);
    for (const std::string& alias : field.aliases) EXPECT_EQ(explain_key(alias, config).json["key"], field.key);
  }
  for (const TrainerName& name : trainer_names()) EXPECT_FALSE(explain_key(name.name, config).text.empty());
  for (const std::string& section : config_sections()) EXPECT_TRUE(explain_key(section, config).json.is_array());
  EXPECT_EQ(explain_key("schedule", config).json.size(), 3U);
  EXPECT_NE(explain_key("num_processes", config).text.find("stands for --nproc"), std::string::npos);
}

TEST(Explain, CombinationsThatTheTrainerWarnsAgainstSayWhyTheyAreSafe) {
  for (const char* name : {"ddp_find_unused_parameters", "ddp_broadcast_buffers"}) {
    EXPECT_NE(explain_key(name, RunConfig()).text.find("gradient_checkpointing"), std::string::npos) << name;
  }
}

TEST(Explain, AnUnknownKeyIsRefusedWithTheNearestOne) {
  const auto unknown = [](const std::string& key) { return refusal([&] { explain_key(key, RunConfig()); }); };
  EXPECT_NE(unknown("plan.update").find("did you mean 'plan.updates'?"), std::string::npos);
  EXPECT_NE(unknown("max_step").find("did you mean 'max_steps'?"), std::string::npos);
  EXPECT_NE(unknown("evaluaton").find("did you mean 'evaluation'?"), std::string::npos);
  EXPECT_NE(unknown("").find("unknown key"), std::string::npos);
}

}  // namespace
}  // namespace samegrad
