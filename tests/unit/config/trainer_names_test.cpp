// Configs written for the Hugging Face Trainer mean here what they mean there, or are refused by name.
#include "samegrad/config/trainer_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

std::map<std::string, std::string> options(const std::filesystem::path& path, const std::vector<std::string>& set) {
  std::map<std::string, std::string> values;
  for (const auto& [option, given] : option_values(path, set)) values[option] = given.value;
  return values;
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
  EXPECT_EQ(options(file.path, {}),
            (std::map<std::string, std::string>{{"--nproc", "3"}, {"--run", "some/run"}, {"--resume", "latest"}}));
}

TEST(TrainerNames, OverridesComeAfterTheFile) {
  const YamlFile file("num_processes: 3\nresume_from_checkpoint: some/step-0003\n");
  const std::vector<std::string> overrides = {"num_processes=2", "resume_from_checkpoint=false"};
  EXPECT_EQ(options(file.path, overrides), (std::map<std::string, std::string>{{"--nproc", "2"}, {"--resume", ""}}));
  EXPECT_EQ(options({}, {}), (std::map<std::string, std::string>()));
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
      {{"max_steps=-1"},
       "max_steps: -1 and num_train_epochs: 0; nothing says how long to train: give max_steps above 0"},
      {{"max_steps=-2"},
       "max_steps: -2 is out of range; allowed: a whole number, 0 to 1000000000 (max_steps is plan.up"},
      {{"num_train_epochs=2.5"},
       "'2.5' is a part of an epoch; give whole epochs, or the number of updates as max_steps"},
      {{"lr_scheduler_type=polynomial"},
       "'polynomial' is not offered; constant, constant_with_warmup, linear and cosine"},
      {{"lr_scheduler_type=cosine_with_min_lr"}, "schedule.minimum_factor"},
      {{"lr_scheduler_type=constant", "warmup_steps=5"},
       "lr_scheduler_type: constant with warmup_steps: 5, which the Trainer would ignore; write constant_with_warmup, "
       "or "
       "warmup_steps: 0"},
      {{"lr_scheduler_type=constant", "warmup_ratio=0.05"}, "or warmup_ratio: 0"},
      {{"warmup_ratio=0.1", "warmup_steps=5"}, "warmup_ratio: 0.1 with warmup_steps: 5, which the Trainer would take"},
      {{"warmup_ratio=1.5"}, "'1.5' is no part of the run; write a number, 0 to 1"},
      {{"data.task=text", "data.train=a.txt", "model.kind=decoder", "model.vocabulary=256", "plan.stop_at=0",
        "num_train_epochs=2", "warmup_ratio=0.1"},
       "write warmup_steps: N, or max_steps: N"},
      {{"save_strategy=epoch"}, "save_strategy: 'epoch' is not offered; write steps, and save_steps: N, in updates"},
      {{"save_strategy=no", "save_steps=5"}, "save_strategy: no with save_steps: 5, which the Trainer would ignore"},
      {{"save_strategy=steps"}, "save_strategy: steps without save_steps; write save_steps: N"},
      {{"eval_strategy=steps"}, "eval_strategy: steps without eval_steps; write eval_steps: N"},
      {{"evaluation_strategy=epoch"}, "write steps, and eval_steps: N"},
      {{"logging_strategy=no"}, "--quiet on the command line"},
      {{"optim=adamw_8bit"}, "optim: 'adamw_8bit' is not offered; write adamw_torch or sgd"},
      {{"fp16=true"},
       "--set fp16=true: fp16: 'true' is not offered: everything is computed in float32; write fp16: false, or leave "
       "it"},
      {{"do_train=false"}, "run samegrad evaluate"},
      {{"average_tokens_across_devices=false"}, "N is always counted over all processes; write true"},
      {{"save_steps=0.1"}, "'0.1' is a part of the run; give a number of updates"},
      {{"logging_steps=0.5"}, "a part of the run"},
      {{"ddp_find_unused_parameters=maybe"}, "neither true nor false"},
      {{"ddp_bucket_cap_mb=-1"}, "no number above 0"},
      {{"output_dir="}, "no folder; one is needed"},
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
    EXPECT_NE(text.find(std::string("ddp_backend: '") + backend + "' is not built: "), std::string::npos) << text;
    EXPECT_NE(text.find("allowed: one of: auto, shm, gloo"), std::string::npos) << text;
  }
  EXPECT_NE(refused({"ddp_backend=nccl"}).find("an NCCL back end are not written yet"), std::string::npos);
  EXPECT_NE(refused({"ddp_backend=mpi"}).find("an MPI back end is not written yet"), std::string::npos);
}

TEST(TrainerNames, AreEachOfOneKindAndThereOnce) {
  std::vector<std::string> names;
  for (const TrainerName& name : trainer_names()) {
    EXPECT_EQ(find_field(name.name) != nullptr, name.effect == TrainerEffect::kField) << name.name;
    EXPECT_EQ(!name.option.empty(), name.effect == TrainerEffect::kOption) << name.name;
    EXPECT_FALSE(name.meaning.empty()) << name.name;
    names.push_back(name.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(TrainerNames, WhatIsNotOfferedIsTakenWhereItIsOffAndRefusedOtherwiseWithWhatToWrite) {
  const Json lesson = config_to_json(RunConfig());
  int seen = 0;
  for (const TrainerName& name : trainer_names()) {
    if (name.effect != TrainerEffect::kOff) continue;
    ++seen;
    std::vector<std::string> off = name.off;
    off.insert(off.end(), {"null", "None", ""});
    for (const std::string& value : off) {
      RunConfig config = with({name.name + "=" + value, "plan.stop_at=0"});
      EXPECT_EQ(config_to_json(config), lesson) << name.name << " " << value;
      EXPECT_TRUE(config.notes.empty()) << name.name;
    }
    const std::string set = name.name + "=something";
    const std::string said = refused({set});
    EXPECT_TRUE(said.starts_with("[config] --set " + set + ": " + name.name + ": 'something' is not offered: "))
        << said;
    EXPECT_NE(said.find("; " + (name.instead.empty() ? "write " + name.name + ": " : name.instead)), std::string::npos)
        << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_NE(explain_key(name.name, RunConfig()).text.find(name.meaning), std::string::npos);
  }
  EXPECT_GT(seen, 60);
  EXPECT_EQ(config_to_json(with({"fp16=False", "label_smoothing_factor=0.0", "local_rank=-1"})),
            config_to_json(with({})));
}

TEST(TrainerNames, WhatHasNoEffectIsSaidAndChangesNothing) {
  for (const TrainerName& name : trainer_names()) {
    if (name.effect != TrainerEffect::kNoEffect) continue;
    const RunConfig config = with({name.name + "=null"});
    EXPECT_EQ(config_to_json(config), config_to_json(with({}))) << name.name;
    ASSERT_EQ(config.notes.size(), 1U);
    EXPECT_TRUE(config.notes[0].starts_with(name.name + ": no effect here: "));
  }
}

TEST(TrainerNames, ListsAndMappingsOfAWholeConfigAreRead) {
  const YamlFile file(
      "fp16: false\nreport_to: [none]\nfsdp: []\nfsdp_config: {min_num_params: 0}\nlr_scheduler_kwargs: {}\n"
      "label_names:\n  - labels\ndeepspeed:\nweight_decay: 0.01\nadam_beta1: 0.8\nadam_epsilon: 1e-6\noptim: "
      "adamw_torch\n"
      "eval_steps: 7\neval_strategy: steps\nsave_strategy: \"no\"\nper_device_eval_batch_size: 3\nwarmup_ratio: 0.07\n"
      "use_cpu: true\ndataloader_num_workers: 4\nmax_steps: 50\n");
  const RunConfig config = load_config(file.path, {});
  EXPECT_EQ(config.optimizer.kind, "adamw");
  EXPECT_EQ(config.optimizer.weight_decay, 0.01);
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_EQ(config.optimizer.epsilon, 1e-6);
  EXPECT_EQ(config.evaluation.every, 7);
  EXPECT_EQ(config.evaluation.batch_size, 3);
  EXPECT_EQ(config.run.device, "cpu");
  EXPECT_EQ(config.schedule.warmup_updates, 4);  // ceil(3.5)
  const YamlFile tracked("seed: 1\nreport_to:\n  - tensorboard\n");
  const std::string said = refusal([&] { load_config(tracked.path, {}); });
  EXPECT_NE(said.find(":2: report_to: '[tensorboard]' is not offered: no tracker is used"), std::string::npos) << said;
}

/// All names by which a person may give a value beside the keys, and the values that no one of them takes.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Field& field : config_fields()) names.insert(names.end(), field.aliases.begin(), field.aliases.end());
  for (const TrainerName& name : trainer_names()) {
    if (find_field(name.name) == nullptr) names.push_back(name.name);
  }
  return names;
}

TEST(TrainerNames, EveryRefusedValueIsToldByTheNameAndThePlaceOfItsUser) {
  std::vector<std::string> takes_all;
  for (const std::string& name : all_names()) {
    int refusals = 0;
    for (const char* value : {"-7", "nonsense", "\"\"", "[1, 2]"}) {
      const YamlFile file("seed: 1\n" + name + ": " + value + "\n");
      try {
        load_config(file.path, {});
      } catch (const InputError& error) {
        ++refusals;
        const std::string said = error.what();
        EXPECT_TRUE(said.starts_with("[config] " + file.path.string() + ":2: " + name + ": ")) << said;
        EXPECT_NE(said.find("; ", said.find(name)), std::string::npos) << "no word on what to write: " << said;
      }
    }
    for (const char* value : {"-7", "nonsense"}) {
      const std::string set = name + "=" + value;
      try {
        with({set});
      } catch (const InputError& error) {
        ++refusals;
        EXPECT_TRUE(std::string(error.what()).starts_with("[config] --set " + set + ": " + name + ": "))
            << error.what();
      }
    }
    if (refusals == 0) takes_all.push_back(name);
  }
  // Free words, and names without effect that may hold any.
  EXPECT_EQ(takes_all, (std::vector<std::string>{"resume_from_checkpoint", "logging_dir", "run_name",
                                                 "include_num_input_tokens_seen", "metric_for_best_model",
                                                 "hub_model_id", "hub_strategy", "hub_token", "fsdp_config",
                                                 "length_column_name", "gradient_checkpointing_kwargs", "ray_scope"}));
}

TEST(TrainerNames, CombinationsAreRefusedInTheWordsThatWereGiven) {
  const YamlFile file("seed: 1\nmax_steps: 6\nmax_seq_length: 100\n");
  const std::string place = "[config] " + file.path.string();
  const auto said_of = [&](const std::vector<std::string>& set) {
    return refusal([&] { load_config(file.path, set); });
  };
  EXPECT_EQ(said_of({"plan.stop_at=7", "max_seq_length=128"}),
            "[config] --set plan.stop_at=7, " + file.path.string() +
                ":2: plan.stop_at: 7 is past the last update; allowed: up to max_steps = 6, or plan.stop_at: 0 (also "
                "--continuous) to train to the end");
  EXPECT_EQ(said_of({"--stop-at=7"}), place +
                                          ":2: --stop-at: 7 is past the last update; allowed: up to max_steps = 6, "
                                          "or plan.stop_at: 0 (also --continuous) to train to the end");
  EXPECT_EQ(said_of({"--continuous"}), place + ":3: max_seq_length: 100; at least data.longest = 128");
  EXPECT_EQ(
      refused({"plan.updates=5", "max_steps=6"}),
      "[config] the lesson, --set max_steps=6: plan.stop_at: 50 is past the last update; allowed: up to max_steps = "
      "6, or plan.stop_at: 0 (also --continuous) to train to the end");
  EXPECT_NE(refused({"num_train_epochs=3.0"}).find("num_train_epochs: 3.0; the lesson is counted in updates: set max_"),
            std::string::npos);
  EXPECT_NE(refused({"optim=adamw_torch", "optimizer.momentum=0.9"}).find("optim: adamw_torch has adam_beta1"),
            std::string::npos);
  EXPECT_NE(refused({"gradient_accumulation_steps=65536", "plan.virtual_ranks=65536"})
                .find("plan.virtual_ranks: 65536 x gradient_accumulation_steps: 65536 is 4294967296"),
            std::string::npos);
  EXPECT_NE(
      refused({"train_file=a.txt"}).find("--set train_file=a.txt: train_file: a.txt; files are for data.task text"),
      std::string::npos);
}

TEST(TrainerNames, TheDocumentListsThemAll) {
  std::string table;
  const auto row = [&](const std::string& name, const std::string& is, const std::string& meaning) {
    table += "| `" + name + "` | " + is + " | " + meaning + " |\n";
  };
  for (const Field& field : config_fields()) {
    for (const std::string& alias : field.aliases) {
      const TrainerName* const name = find_trainer_name(alias);
      row(alias, "`" + field.key + "`", name == nullptr ? field.meaning : name->meaning);
    }
  }
  for (const TrainerName& name : trainer_names()) {
    if (name.effect == TrainerEffect::kOption) row(name.name, "`" + name.option + "`", name.meaning);
    if (name.effect == TrainerEffect::kRule) row(name.name, "with others", name.meaning);
    if (name.effect == TrainerEffect::kNoEffect) row(name.name, "no effect", name.meaning);
    if (name.effect == TrainerEffect::kOff) row(name.name, "not offered", off_text(name));
  }
  std::ifstream document(SAMEGRAD_DOCS "/trainer-names.md");
  std::string written;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| `")) written += line + "\n";
  }
  EXPECT_EQ(written, table) << "docs/trainer-names.md: its table must be\n" << table;
}

TEST(Explain, SaysWhatAKeyIsByEveryNameOfIt) {
  const RunConfig config = with({"max_steps=60"});
  const Explanation updates = explain_key("plan.updates", config);
  EXPECT_EQ(explain_key("max_steps", config).text, updates.text);
  for (const char* part :
       {"plan.updates: updates of the whole run", "value:   60", "default: 100",
        "allowed: a whole number, 0 to 1000000000", "part of the config's digest", "also:    max_steps"}) {
    EXPECT_NE(updates.text.find(part), std::string::npos) << part << "\n" << updates.text;
  }
  EXPECT_EQ(updates.json["value"], 60);
  EXPECT_EQ(updates.json["decides_bits"], true);
  EXPECT_NE(updates.text.find("another computation, a resume may have another value"), std::string::npos);
  EXPECT_EQ(updates.json["resume_may_change"], true);
  EXPECT_NE(explain_key("seed", config).text.find("another computation, a resume refuses it"), std::string::npos);
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
