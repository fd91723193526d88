#include "samegrad/config/fields.h"

#include <algorithm>
#include <utility>

#include "samegrad/base/nearest_name.h"
#include "samegrad/config/trainer_names.h"

namespace samegrad {
namespace {

// Far above any use, far below overflow: products of any two fit int64.
constexpr std::int64_t kMany = 1'000'000'000;

// Every JSON reader keeps integers up to here.
constexpr std::int64_t kLargestSeed = 9'007'199'254'740'991;

constexpr double kAnyFactor = 1e30;

enum class Bits { kDecides, kDoesNotDecide };

FieldTarget seed_target(RunConfig& config) { return &config.seed; }

template <auto Section, auto Member>
FieldTarget member_target(RunConfig& config) {
  return &(config.*Section.*Member);
}

/// Adds the fields of one section.
template <auto Section>
class SectionTable {
 public:
  SectionTable(std::vector<Field>& fields, std::string section, Bits bits = Bits::kDecides)
      : fields_(fields), section_(std::move(section)), bits_(bits) {}

  template <auto Member>
  SectionTable& add(const std::string& name, std::string meaning, FieldLimits limits,
                    std::vector<std::string> aliases = {}) {
    return add<Member>(bits_, name, std::move(meaning), std::move(limits), std::move(aliases));
  }

  template <auto Member>
  SectionTable& add(Bits bits, const std::string& name, std::string meaning, FieldLimits limits,
                    std::vector<std::string> aliases = {}) {
    fields_.push_back({section_ + "." + name, std::move(meaning), std::move(limits), std::move(aliases),
                       bits == Bits::kDecides, &member_target<Section, Member>});
    return *this;
  }

 private:
  std::vector<Field>& fields_;
  std::string section_;
  Bits bits_;
};

ChoiceLimits choice(std::vector<std::string> values, std::map<std::string, std::string> refused = {}) {
  return {std::move(values), std::move(refused)};
}

void add_data(std::vector<Field>& fields) {
  using Data = DataConfig;
  SectionTable<&RunConfig::data>(fields, "data")
      .add<&Data::task>("task", "lesson: synthetic sequences, a label per token; text: predict the next byte",
                        choice({"lesson", "text"}))
      // The paths say where the bytes lie; which bytes they are is in the data lock.
      .add<&Data::train>(Bits::kDoesNotDecide, "train", "text: path of a .jsonl or .txt file", NoLimits{},
                         {"train_file"})
      .add<&Data::validation>(Bits::kDoesNotDecide, "validation", "text: path of a file like data.train, or nothing",
                              NoLimits{}, {"validation_file"})
      .add<&Data::txt>("txt", "a .txt file is documents separated by blank lines, or one stream cut to the context",
                       choice({"documents", "stream"}))
      .add<&Data::skip_bad_lines>("skip_bad_lines", "text: count and report bad lines instead of refusing the file",
                                  NoLimits{})
      .add<&Data::train_sequences>("train_sequences", "lesson: training sequences", IntegerLimits{2, kMany})
      .add<&Data::validation_sequences>("validation_sequences", "lesson: validation sequences", IntegerLimits{2, kMany})
      .add<&Data::test_sequences>("test_sequences", "lesson: test sequences", IntegerLimits{2, kMany})
      .add<&Data::shortest>("shortest", "lesson: tokens of the shortest sequence", IntegerLimits{1, kMany})
      .add<&Data::split>("split", "lesson: the longest sequence of the short pool; half of all are in it",
                         IntegerLimits{1, kMany})
      .add<&Data::longest>("longest", "lesson: tokens of the longest sequence", IntegerLimits{2, kMany})
      .add<&Data::prefetch>(Bits::kDoesNotDecide, "prefetch",
                            "text: windows built while the one before computes; the same bits", IntegerLimits{0, 1});
}

void add_plan(std::vector<Field>& fields) {
  using Plan = PlanConfig;
  SectionTable<&RunConfig::plan>(fields, "plan")
      .add<&Plan::updates>("updates", "updates of the whole run; 0: given by plan.epochs", IntegerLimits{0, kMany},
                           {"max_steps"})
      .add<&Plan::epochs>("epochs", "text: passes over the samples; 0: given by plan.updates", IntegerLimits{0, kMany},
                          {"num_train_epochs"})
      .add<&Plan::stop_at>(Bits::kDoesNotDecide, "stop_at", "train ends here with a checkpoint; 0: at the last update",
                           IntegerLimits{0, kMany})
      .add<&Plan::virtual_ranks>("virtual_ranks", "parts of a window; any number of processes can share them",
                                 IntegerLimits{1, 65536})
      .add<&Plan::accumulation>("accumulation", "microbatches of a virtual rank in one window", IntegerLimits{1, 65536},
                                {"gradient_accumulation_steps"})
      .add<&Plan::batch_size_per_rank>("batch_size_per_rank", "samples of one microbatch", IntegerLimits{1, 1'000'000},
                                       {"per_device_train_batch_size"})
      .add<&Plan::balance>("balance",
                           "none: samples stay in the microbatches they were drawn for; lpt: a window's samples are "
                           "spread so that microbatches cost alike. Not given: none for the lesson, lpt for text",
                           choice({"none", "lpt"}))
      .add<&Plan::cost_per_token>("cost_per_token", "lpt: cost of a token; with the next also 0: the model's FLOPs",
                                  NumberLimits{0, kAnyFactor})
      .add<&Plan::cost_per_token_pair>("cost_per_token_pair",
                                       "lpt: cost of a pair of tokens of a sample, a token with itself too",
                                       NumberLimits{0, kAnyFactor});
}

void add_model(std::vector<Field>& fields) {
  using Model = ModelConfig;
  SectionTable<&RunConfig::model>(fields, "model")
      .add<&Model::kind>("kind", "encoder: sees the whole sequence (lesson); decoder: sees what came before (text)",
                         choice({"encoder", "decoder"}))
      .add<&Model::layers>("layers", "Transformer layers", IntegerLimits{1, 1000})
      .add<&Model::width>("width", "size of a token's vector", IntegerLimits{1, 65536})
      .add<&Model::heads>("heads", "attention heads; must divide model.width", IntegerLimits{1, 65536})
      .add<&Model::feed_forward>("feed_forward", "hidden size of a layer's two-layer network",
                                 IntegerLimits{1, 1'000'000})
      .add<&Model::vocabulary>("vocabulary", "different tokens; text: at least 256, one a byte",
                               IntegerLimits{2, 10'000'000})
      .add<&Model::positions>("positions", "longest sequence; text: the context in tokens", IntegerLimits{1, 1'000'000},
                              {"max_seq_length"})
      .add<&Model::classes>("classes", "encoder: labels to choose from", IntegerLimits{2, 1'000'000})
      .add<&Model::dropout>("dropout", "part of the activations that is dropped", NumberLimits{0, 1, false, true})
      .add<&Model::gradient_checkpointing>(Bits::kDoesNotDecide, "gradient_checkpointing",
                                           "true: less memory, a layer runs once more in backward; the same bits",
                                           NoLimits{}, {"gradient_checkpointing"})
      .add<&Model::init>("init", "initial weights; zero-head: the output layer starts as zeros",
                         choice({"normal", "zero-head"}));
}

void add_training(std::vector<Field>& fields) {
  using Objective = ObjectiveConfig;
  SectionTable<&RunConfig::objective>(fields, "objective")
      .add<&Objective::unit>("unit",
                             "what has equal weight in the loss: each token, or the mean of each sequence or document; "
                             "constant: tokens, divided by objective.constant",
                             choice({"token", "sequence", "document", "constant"}))
      .add<&Objective::constant>("constant", "unit constant: what the sum of losses is divided by, else 0",
                                 IntegerLimits{0, kLargestSeed})
      .add<&Objective::class_weights>("class_weights", "weight of a token by its target, one a class; empty: all 1",
                                      NoLimits{})
      .add<&Objective::z_loss>("z_loss", "times the mean over tokens of logsumexp(logits)^2, added to the loss",
                               NumberLimits{0, kAnyFactor})
      .add<&Objective::l2>("l2", "times half the sum of the parameters' squares, added to the loss",
                           NumberLimits{0, kAnyFactor})
      .add<&Objective::empty_window>("empty_window", "a window without supervised tokens on all ranks",
                                     choice({"error", "skip"}));
  using Optimizer = OptimizerConfig;
  SectionTable<&RunConfig::optimizer>(fields, "optimizer")
      .add<&Optimizer::kind>("kind", "the update rule", choice({"sgd", "adamw"}), {"optim"})
      .add<&Optimizer::learning_rate>("learning_rate", "step size before the schedule", NumberLimits{0, kAnyFactor},
                                      {"learning_rate"})
      .add<&Optimizer::momentum>("momentum", "sgd: momentum", NumberLimits{0, 1, false, true})
      .add<&Optimizer::weight_decay>("weight_decay", "sgd: added to the gradient; adamw: decoupled",
                                     NumberLimits{0, kAnyFactor}, {"weight_decay"})
      .add<&Optimizer::beta1>("beta1", "adamw: memory of the gradient", NumberLimits{0, 1, false, true}, {"adam_beta1"})
      .add<&Optimizer::beta2>("beta2", "adamw: memory of its square", NumberLimits{0, 1, false, true}, {"adam_beta2"})
      .add<&Optimizer::epsilon>("epsilon", "adamw: added to the divisor", NumberLimits{0, kAnyFactor}, {"adam_epsilon"})
      .add<&Optimizer::max_grad_norm>("max_grad_norm", "the window's gradient is scaled down to this norm; 0: never",
                                      NumberLimits{0, kAnyFactor}, {"max_grad_norm"})
      .add<&Optimizer::non_finite>("non_finite", "a gradient with NaN or infinity", choice({"error", "skip"}));
  using Schedule = ScheduleConfig;
  SectionTable<&RunConfig::schedule>(fields, "schedule")
      .add<&Schedule::kind>("kind", "the learning rate after the warm-up", choice({"constant", "linear", "cosine"}),
                            {"lr_scheduler_type"})
      .add<&Schedule::warmup_updates>("warmup_updates", "updates in which the rate rises to its full size",
                                      IntegerLimits{0, kMany}, {"warmup_steps"})
      .add<&Schedule::minimum_factor>("minimum_factor", "part of the rate that is left at the last update",
                                      NumberLimits{0, 1});
}

void add_how(std::vector<Field>& fields) {
  using Evaluation = EvaluationConfig;
  SectionTable<&RunConfig::evaluation>(fields, "evaluation", Bits::kDoesNotDecide)
      .add<&Evaluation::every>("every", "updates between validations; 0: only at the end", IntegerLimits{0, kMany},
                               {"eval_steps"})
      .add<&Evaluation::batch_size>("batch_size", "samples evaluated at once", IntegerLimits{1, 1'000'000},
                                    {"per_device_eval_batch_size"});
  using Checkpoint = CheckpointConfig;
  SectionTable<&RunConfig::checkpoint>(fields, "checkpoint", Bits::kDoesNotDecide)
      .add<&Checkpoint::every>("every", "updates between checkpoints; 0: at a stop and at the end only",
                               IntegerLimits{0, kMany}, {"save_steps"})
      .add<&Checkpoint::keep>("keep", "newest checkpoints that are kept; 0: all", IntegerLimits{0, kMany},
                              {"save_total_limit"})
      .add<&Checkpoint::keep_every>("keep_every", "kept besides: those whose update this divides; 0: none",
                                    IntegerLimits{0, kMany})
      .add<&Checkpoint::async>("async", "train on while a checkpoint is written, from a copy in memory", NoLimits{});
  SectionTable<&RunConfig::logging>(fields, "logging", Bits::kDoesNotDecide)
      .add<&LoggingConfig::every>("every", "updates between progress lines when the output is no terminal",
                                  IntegerLimits{1, kMany}, {"logging_steps"});
  const std::string nccl = "not built: CUDA tensors and an NCCL back end are not written yet; shm and gloo are";
  const std::string mpi = "not built: an MPI back end is not written yet; under mpirun, shm or gloo connects processes";
  const std::string other = "not built: it is for another maker's accelerators, and none of them is supported";
  SectionTable<&RunConfig::run>(fields, "run", Bits::kDoesNotDecide)
      .add<&RunSection::device>(
          "device", "where it is computed",
          choice({"auto", "cpu"}, {{"cuda", "not built: CPU only today"}, {"gpu", "not built: CPU only today"}}),
          {"use_cpu", "no_cuda"})
      .add<&RunSection::backend>(
          "backend", "how the processes talk: auto shares memory on one host, else gloo",
          choice({"auto", "shm", "gloo"},
                 {{"nccl", nccl}, {"mpi", mpi}, {"xccl", other}, {"hccl", other}, {"cncl", other}, {"ccl", other}}),
          {"ddp_backend"})
      .add<&RunSection::timeout_s>("timeout_s", "seconds after which a wait for another rank ends the run",
                                   IntegerLimits{1, 10'000'000}, {"ddp_timeout"})
      .add<&RunSection::isa>("isa",
                             "instructions that libtorch and samegrad's kernels may use; other ones give other bits",
                             choice({"auto", "default", "avx2", "avx512"}));
}

std::vector<Field> make_fields() {
  std::vector<Field> fields;
  fields.push_back(
      {"seed", "everything random follows from it", IntegerLimits{0, kLargestSeed}, {}, true, seed_target});
  add_data(fields);
  add_plan(fields);
  add_model(fields);
  add_training(fields);
  add_how(fields);
  return fields;
}

}  // namespace

std::string Field::section() const {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string Field::name() const {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

bool field_applies(const RunConfig& config, const Field& field) {
  return config.plan.balance == "lpt" || !field.key.starts_with("plan.cost_");
}

std::span<const Field> config_fields() {
  static const std::vector<Field> kFields = make_fields();
  return kFields;
}

const Field* find_field(std::string_view key_or_alias) {
  const auto fields = config_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) {
    return field.key == key_or_alias ||
           std::find(field.aliases.begin(), field.aliases.end(), key_or_alias) != field.aliases.end();
  });
  return found == fields.end() ? nullptr : &*found;
}

std::string suggest_field(std::string_view unknown_key) {
  std::vector<std::string> known;
  for (const Field& field : config_fields()) {
    if (field.name() == unknown_key) {
      return ", did you mean '" + field.key + "'?";
    }
    known.push_back(field.key);
    known.insert(known.end(), field.aliases.begin(), field.aliases.end());
  }
  for (const TrainerName& name : trainer_names()) known.push_back(name.name);
  return suggestion(unknown_key, known);
}

std::span<const std::string> config_sections() {
  static const std::vector<std::string> kSections = [] {
    std::vector<std::string> sections;
    for (const Field& field : config_fields()) {
      const std::string section = field.section();
      if (!section.empty() && (sections.empty() || sections.back() != section)) {
        sections.push_back(section);
      }
    }
    return sections;
  }();
  return kSections;
}

}  // namespace samegrad
