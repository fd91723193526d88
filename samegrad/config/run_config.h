// What a run is: plain structs with their defaults, one a section of the YAML file. config/fields.h lists every field
// with its meaning; config/load.h fills and validates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace samegrad {

/// `data`: which samples.
struct DataConfig {
  std::string task = "lesson";          ///< lesson (synthetic sequences, a label per token) | text (next byte)
  std::string train;                    ///< text: path of a .jsonl or .txt file
  std::string validation;               ///< text: path, or empty for none
  std::string txt = "documents";        ///< .txt: documents (separated by a blank line) | stream (cut to the context)
  bool skip_bad_lines = false;          ///< text: count and report bad lines instead of refusing the file
  std::int64_t train_sequences = 1024;  ///< lesson
  std::int64_t validation_sequences = 128;
  std::int64_t test_sequences = 256;
  std::int64_t shortest = 16;  ///< lesson: sequence lengths are shortest..split and split+1..longest, half each
  std::int64_t split = 64;     ///< lesson: the two pools of the plan meet here
  std::int64_t longest = 128;
  std::int64_t prefetch = 1;  ///< text: windows, 0 or 1, that are built while the one before computes
};

/// `plan`: which samples form which atom of which update. Independent of the number of processes.
struct PlanConfig {
  std::int64_t updates = 100;  ///< 0: given by `epochs`
  std::int64_t epochs = 0;     ///< text only; 0: given by `updates`. Exactly one of the two is set
  std::int64_t stop_at = 0;    ///< train stops here with a checkpoint; 0: at the last update
  std::int64_t virtual_ranks = 2;
  std::int64_t accumulation = 2;
  std::int64_t batch_size_per_rank = 8;  ///< samples of one atom
  std::string balance = "none";          ///< none | lpt (plan/balanced_plan.h); load_config gives lpt to text
  double cost_per_token = 0.0;           ///< lpt: what a token of a sample costs, in any unit
  double cost_per_token_pair = 0.0;      ///< lpt: and a pair of its tokens; both 0: the model's FLOPs

  std::int64_t atoms_per_window() const { return virtual_ranks * accumulation; }
};

/// `model`: a Transformer; encoder for the lesson, decoder for text.
struct ModelConfig {
  std::string kind = "encoder";  ///< encoder (bidirectional, post-norm) | decoder (causal, pre-norm)
  std::int64_t layers = 2;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t feed_forward = 256;
  std::int64_t vocabulary = 6;
  std::int64_t positions = 128;  ///< longest sequence; text: the context in tokens
  std::int64_t classes = 4;      ///< encoder only
  double dropout = 0.0;
  bool gradient_checkpointing = false;  ///< layers run once more in backward instead of keeping activations
  std::string init = "normal";  ///< normal | zero-head (an output layer of zeros: every token costs ln of its choices)
};

/// `objective`: what is averaged over what.
struct ObjectiveConfig {
  std::string unit = "token";         ///< token | sequence | document | constant (docs/objectives.md)
  std::int64_t constant = 0;          ///< unit constant: what the sum of losses is divided by
  std::vector<double> class_weights;  ///< a token's weight by its target; empty: 1 each
  double z_loss = 0.0;  ///< times the mean over supervised tokens of logsumexp(logits)^2, added to the loss; 0: none
  double l2 = 0.0;      ///< times half the sum of the parameters' squares, added to the loss; 0: none
  std::string empty_window = "error";  ///< error | skip: a window without supervised units on all ranks
};

/// Whether the loss has terms beside that of its units.
inline bool has_terms(const ObjectiveConfig& objective) { return objective.z_loss > 0.0 || objective.l2 > 0.0; }

/// `optimizer`.
struct OptimizerConfig {
  std::string kind = "sgd";  ///< sgd | adamw
  double learning_rate = 0.1;
  double momentum = 0.0;
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double max_grad_norm = 0.0;        ///< 0: no clipping
  std::string non_finite = "error";  ///< error | skip: a gradient with NaN or infinity
};

/// `schedule` of the learning rate.
struct ScheduleConfig {
  std::string kind = "constant";  ///< constant | linear | cosine (to minimum_factor at the last update)
  std::int64_t warmup_updates = 0;
  double minimum_factor = 0.0;
};

/// `evaluation`.
struct EvaluationConfig {
  std::int64_t every = 0;  ///< updates between validations; 0: only at the end
  std::int64_t batch_size = 16;
};

/// `checkpoint`.
struct CheckpointConfig {
  std::int64_t every = 0;       ///< 0: at a stop and at the end only
  std::int64_t keep = 0;        ///< newest ones kept; 0: all
  std::int64_t keep_every = 0;  ///< besides, those whose update this divides; 0: none
  bool async = false;           ///< training goes on while one is written; costs its size in memory
};

/// `logging`.
struct LoggingConfig {
  std::int64_t every = 10;  ///< updates between progress lines when the output is no terminal
};

/// `run`: where and how, never what: nothing here changes bits.
struct RunSection {
  std::string device = "auto";    ///< auto | cpu (cuda is refused by name: not built)
  std::string backend = "auto";   ///< auto | shm | gloo (nccl, mpi are refused by name: not built)
  std::int64_t timeout_s = 1800;  ///< a wait for another rank that lasts longer ends the run
  std::string isa = "auto";
};

struct RunConfig {
  std::int64_t seed = 42;
  DataConfig data;
  PlanConfig plan;
  ModelConfig model;
  ObjectiveConfig objective;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  LoggingConfig logging;
  RunSection run;

  /// No field: for the start of a run, which of the names that were given have no effect, and why.
  std::vector<std::string> notes;
};

}  // namespace samegrad
