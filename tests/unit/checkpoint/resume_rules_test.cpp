#include "samegrad/checkpoint/resume_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <set>

#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/load.h"
#include "samegrad/config/resume_keys.h"
#include "samegrad/plan/epoch_plan.h"
#include "samegrad/plan/sampler_history.h"

namespace samegrad {
namespace {

constexpr std::int64_t kUpdate = 4;
constexpr std::int64_t kTotal = 6;
constexpr std::int64_t kSamples = 10;

RunConfig text_config() {
  RunConfig config;
  config.data.task = "text";
  config.data.train = "train.jsonl";
  config.model.kind = "decoder";
  config.plan.updates = kTotal;
  config.plan.batch_size_per_rank = 1;
  return config;
}

DataLock lock_of(std::int64_t samples, std::int64_t validation_samples) {
  DataLock lock{.task = "text", .splits = {}};
  lock.splits.emplace_back("train", SplitLock{.samples = samples, .tokens = 30, .bytes = 400, .sha256 = "aa"});
  if (validation_samples > 0) {
    lock.splits.emplace_back("validation", SplitLock{.samples = validation_samples, .sha256 = "cc"});
  }
  return lock;
}

std::unique_ptr<UpdatePlan> plan_of(const RunConfig& config) {
  return make_epoch_plan(config.plan, config.seed, kSamples);
}

// What a training leaves at kUpdate.
Checkpoint checkpoint_of(const RunConfig& config) {
  const std::unique_ptr<UpdatePlan> plan = plan_of(config);
  Checkpoint checkpoint{.path = "step-0004", .update = kUpdate, .manifest = {}, .state = {}, .rank_files = {}};
  checkpoint.state = {{"update", kUpdate},
                      {"cursor", plan_cursor_to_json(plan->cursor(kUpdate))},
                      {"schedule", {{"steps_total", plan->updates()}}},
                      {"config", config_to_json(config)},
                      {"plan_digest", plan->digest()},
                      {"data_lock", to_json(lock_of(kSamples, 0))}};
  for (std::int64_t rank = 0; rank < config.plan.virtual_ranks; ++rank) {
    SamplerHistory history{.virtual_rank = rank};
    for (std::int64_t update = 1; update <= kUpdate; ++update) {
      append_window(history, plan->window(update), config.plan.accumulation);
    }
    checkpoint.rank_files.push_back(sampler_history_to_json(history));
  }
  return checkpoint;
}

struct Resumed {
  RunConfig config = text_config();
  Checkpoint checkpoint = checkpoint_of(config);
  DataLock lock = lock_of(kSamples, 0);

  std::vector<std::string> notes() const { return check_resume(checkpoint, config, *plan_of(config), lock); }

  // "InputError: ..." or "CheckError: ..."; empty: accepted.
  std::string refusal() const {
    try {
      check_resume(checkpoint, config, *plan_of(config), lock);
    } catch (const InputError& error) {
      return std::string("InputError: ") + error.what();
    } catch (const CheckError& error) {
      return std::string("CheckError: ") + error.what();
    }
    return "";
  }
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Change {
  void operator()(std::int64_t* value) const { *value += 1; }
  void operator()(double* value) const { *value += 0.25; }
  void operator()(bool* value) const { *value = !*value; }
  void operator()(std::string* value) const { *value += "-other"; }
  void operator()(std::vector<double>* value) const { value->push_back(0.5); }
};

TEST(ResumeRules, TheSameRunGoesOnWithoutARemark) { EXPECT_EQ(Resumed().notes(), std::vector<std::string>{}); }

// The plan stays the old one: what is looked at is the config alone.
TEST(ResumeRules, EveryKeyOfTheConfigMayChangeOrIsRefusedByNameWithBothValues) {
  RunConfig config = text_config();
  config.plan.balance = "lpt";  // under which every field of the plan applies
  const Resumed run{.config = config, .checkpoint = checkpoint_of(config)};
  const std::unique_ptr<UpdatePlan> plan = plan_of(run.config);
  std::int64_t refused = 0;
  for (const Field& field : config_fields()) {
    RunConfig changed = run.config;
    std::visit(Change{}, field.target(changed));
    try {
      check_resume(run.checkpoint, changed, *plan, run.lock);
      EXPECT_TRUE(a_resume_may_change(field.key)) << field.key;
    } catch (const InputError& error) {
      ++refused;
      EXPECT_FALSE(a_resume_may_change(field.key)) << field.key;
      EXPECT_TRUE(holds(error.what(), "[resume] " + field.key + ": step-0004 was trained with " +
                                          field_to_json(run.config, field).dump() + ", this run has " +
                                          field_to_json(changed, field).dump()))
          << error.what();
    }
  }
  EXPECT_GT(refused, 30);
}

TEST(ResumeRules, AnotherBalanceIsRefusedByNameInBothDirections) {
  RunConfig balanced = text_config();
  balanced.plan.balance = "lpt";
  Resumed run;
  run.config = balanced;
  EXPECT_TRUE(holds(run.refusal(), R"(plan.balance: step-0004 was trained with "none", this run has "lpt")"));
  run = {.config = text_config(), .checkpoint = checkpoint_of(balanced)};
  EXPECT_TRUE(holds(run.refusal(), R"(plan.balance: step-0004 was trained with "lpt", this run has "none")"));
}

TEST(ResumeRules, OnlyTheLengthAndTheTwoPoliciesMayChangeThoughTheyDecideBits) {
  std::set<std::string> found;
  for (const Field& field : config_fields()) {
    EXPECT_TRUE(field.decides_bits || a_resume_may_change(field.key)) << field.key;
    if (field.decides_bits && a_resume_may_change(field.key)) found.insert(field.key);
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"plan.updates", "plan.epochs", "objective.empty_window", "optimizer.non_finite"}));
}

TEST(ResumeRules, EveryKeyOfTheListIsOneOfTheConfigAndOfTheDocument) {
  std::ifstream document(SAMEGRAD_EXACTNESS);
  ASSERT_TRUE(document);
  std::vector<std::string> documented;
  bool in_section = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("#")) in_section = line == "### What a resume may change";
    if (in_section && line.starts_with("| `")) documented.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  std::vector<std::string> listed;
  for (const std::string_view key : keys_a_resume_may_change()) {
    listed.emplace_back(key);
    const bool section = std::ranges::find(config_sections(), key) != config_sections().end();
    EXPECT_TRUE(section || find_field(key) != nullptr) << key;
  }
  EXPECT_EQ(documented, listed);
}

TEST(ResumeRules, AKeyThatThisVersionDoesNotKnowIsRefused) {
  Resumed run;
  run.checkpoint.state["config"]["model"]["experts"] = 8;
  EXPECT_TRUE(holds(run.refusal(), "model.experts: step-0004 was trained with 8, this run has nothing"));
}

TEST(ResumeRules, ARunMayBecomeLongerOrShorterThanPlanned) {
  Resumed run;
  for (const std::int64_t updates : {kTotal + 5, kTotal - 1, kUpdate}) {
    run.config.plan.updates = updates;
    EXPECT_EQ(run.notes(), std::vector<std::string>{}) << updates;
  }
  run.config.plan.updates = 0;
  run.config.plan.epochs = 3;
  EXPECT_EQ(run.notes(), std::vector<std::string>{});
}

TEST(ResumeRules, FewerUpdatesThanAreDoneAreRefusedWithBothNumbers) {
  Resumed run;
  run.config.plan.updates = kUpdate - 1;
  EXPECT_TRUE(
      holds(run.refusal(), "InputError: [resume] plan.updates: step-0004 is at update 4, this run has 3 in all"))
      << run.refusal();
}

TEST(ResumeRules, AnotherLengthIsRemarkedOnWhereTheScheduleDependsOnIt) {
  Resumed run;
  for (const char* kind : {"linear", "cosine"}) {
    run.config.schedule.kind = kind;
    run.config.plan.updates = kTotal;
    run.checkpoint = checkpoint_of(run.config);
    EXPECT_TRUE(run.notes().empty());
    run.config.plan.updates = 9;
    ASSERT_EQ(run.notes().size(), 1);
    EXPECT_TRUE(holds(run.notes()[0], std::string("6 before this resume, 9 now; the ") + kind + " schedule"));
  }
}

TEST(ResumeRules, OtherTrainingDataIsRefusedWithBothValues) {
  Resumed run;
  run.lock = lock_of(kSamples + 1, 0);
  EXPECT_TRUE(holds(run.refusal(), "InputError: [data] the data changed: train samples was 10, is 11"))
      << run.refusal();
  run.lock = lock_of(kSamples, 0);
  run.lock.splits[0].second.sha256 = "bb";
  EXPECT_TRUE(holds(run.refusal(), "train sha256 was aa, is bb")) << run.refusal();
}

TEST(ResumeRules, ValidationDataMayComeChangeAndGoWithARemark) {
  Resumed run;
  const auto note = [&](std::int64_t before, std::int64_t now) {
    run.checkpoint.state["data_lock"] = to_json(lock_of(kSamples, before));
    run.lock = lock_of(kSamples, now);
    const std::vector<std::string> notes = run.notes();
    return notes.empty() ? std::string() : notes.front();
  };
  EXPECT_TRUE(holds(note(0, 3), "data.validation: none before this resume, 3 samples"));
  EXPECT_TRUE(holds(note(3, 5), "data.validation: 3 samples"));
  EXPECT_TRUE(holds(note(3, 0), ", none now; validation losses"));
  EXPECT_EQ(note(3, 3), "");
}

TEST(ResumeRules, APlanOfAnotherRuleIsRefused) {
  Resumed run;
  run.checkpoint.state["plan_digest"] = std::string(64, 'e');
  EXPECT_TRUE(holds(run.refusal(), "InputError: [resume] plan: step-0004 was trained on plan eeeeeeeeeeee"));
}

// Windows of 4, 4 and 2 of ten samples: after update 4 the run is in epoch 1, past one window and 14 samples.
TEST(ResumeRules, APlaceCountedInOtherUnitsIsRefused) {
  ASSERT_EQ(Resumed().checkpoint.state["cursor"],
            (Json{{"update", 4}, {"epoch", 1}, {"window_in_epoch", 1}, {"samples_consumed", 14}}));
  const std::vector<std::pair<const char*, std::int64_t>> wrong{
      {"update", 3},           {"update", 16},          {"epoch", 0}, {"window_in_epoch", 4}, {"window_in_epoch", 0},
      {"samples_consumed", 4}, {"samples_consumed", 16}};
  for (const auto& [name, value] : wrong) {
    Resumed run;
    run.checkpoint.state["cursor"][name] = value;
    EXPECT_TRUE(holds(run.refusal(), "CheckError: [resume] step-0004/state.json: cursor is")) << name << " " << value;
  }
}

TEST(ResumeRules, AHistoryThatIsNotTheCheckpointsIsRefusedByFileAndRank) {
  const auto refusal_of = [](const std::function<void(std::vector<Json>&)>& change) {
    Resumed run;
    change(run.checkpoint.rank_files);
    return run.refusal();
  };
  EXPECT_TRUE(holds(refusal_of([](auto& files) { std::swap(files[0], files[1]); }), "step-0004/rank-0.json"));
  EXPECT_TRUE(holds(refusal_of([](auto& files) { files.pop_back(); }),
                    "step-0004/rank-1.json: missing, the history of virtual rank 1"));
  EXPECT_TRUE(holds(refusal_of([](auto& files) { files[1]["update"] = 5; }),
                    "step-0004/rank-1.json: virtual rank 1 is at update 5, the checkpoint at 4"));
  EXPECT_TRUE(holds(refusal_of([](auto& files) { files[0]["samples_consumed"] = 9; }), "samples; after update 4"));
}

}  // namespace
}  // namespace samegrad
