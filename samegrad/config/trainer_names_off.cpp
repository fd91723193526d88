// Names of the Trainer for what samegrad does not have: their value may say so too.
#include <utility>

#include "samegrad/config/trainer_names.h"

namespace samegrad {
namespace {

using Values = std::vector<std::string>;

TrainerName off(std::string name, Values values, std::string why, std::string instead = {}) {
  return {.name = std::move(name),
          .effect = TrainerEffect::kOff,
          .meaning = std::move(why),
          .translate = nullptr,
          .option = {},
          .off = std::move(values),
          .instead = std::move(instead)};
}

}  // namespace

std::vector<TrainerName> names_accepted_where_off() {
  const std::string float32 = "everything is computed in float32";
  const std::string cpu = "it is for accelerators, and this is for CPUs";
  const std::string whole_model = "every process holds the whole model";
  const std::string compiled = "operations are samegrad's and libtorch's own, as they are";
  const std::string hub = "nothing is sent anywhere";
  const std::string leave = "leave it out";
  return {
      off("fp16", {"false"}, float32),
      off("bf16", {"false"}, float32),
      off("tf32", {"false"}, float32),
      off("mixed_precision", {"no"}, float32),
      off("fp16_full_eval", {"false"}, float32),
      off("bf16_full_eval", {"false"}, float32),
      off("half_precision_backend", {"auto"}, float32),
      off("fp16_backend", {"auto"}, float32),
      off("fp16_opt_level", {"O1"}, float32, leave),
      off("do_train", {"true"}, "the command says what is done", "run samegrad evaluate"),
      off("do_predict", {"false"}, "the command says what is done", "run samegrad evaluate, or samegrad generate"),
      off("deepspeed", {}, whole_model),
      off("fsdp", {"false"}, whole_model),
      off("fsdp_min_num_params", {"0"}, whole_model),
      off("fsdp_transformer_layer_cls_to_wrap", {}, whole_model),
      off("parallelism_config", {}, whole_model),
      off("accelerator_config", {}, "processes and batches are the plan's",
          "leave it out; plan.virtual_ranks, plan.accumulation and plan.batch_size_per_rank decide"),
      off("split_batches", {"false"}, "batches are the plan's", "write plan.batch_size_per_rank"),
      off("dispatch_batches", {"false"}, "every process reads its own batches"),
      off("mp_parameters", {}, whole_model),
      off("local_rank", {"-1", "0"}, "a launcher tells each process its place", "leave it out (docs/launchers.md)"),
      off("use_mps_device", {"false"}, cpu),
      off("tpu_num_cores", {}, cpu),
      off("tpu_metrics_debug", {"false"}, cpu),
      off("use_ipex", {"false"}, compiled),
      off("jit_mode_eval", {"false"}, compiled),
      off("torch_compile", {"false"}, compiled),
      off("torch_compile_backend", {}, compiled),
      off("torch_compile_mode", {}, compiled),
      off("torchdynamo", {}, compiled),
      off("use_liger_kernel", {"false"}, compiled),
      off("liger_kernel_config", {}, compiled),
      off("adafactor", {"false"}, "the optimizers are sgd and adamw", "write optim: adamw_torch, or sgd"),
      off("optim_args", {}, "adamw takes adam_beta1, adam_beta2, adam_epsilon", "write those"),
      off("optim_target_modules", {}, "the optimizers are sgd and adamw"),
      off("lr_scheduler_kwargs", {}, "the schedule has its own keys",
          "write schedule.minimum_factor for the rate that is left at the end"),
      off("label_smoothing_factor", {"0"}, "a target counts whole"),
      off("neftune_noise_alpha", {}, "no noise is added to embeddings"),
      off("average_tokens_across_devices", {"true"}, "N is always counted over all processes",
          "write true, or leave it out (docs/objectives.md)"),
      off("data_seed", {}, "one seed decides everything random", "write seed"),
      off("group_by_length", {"false"}, "windows are drawn without regard to lengths",
          "write plan.balance: lpt, which spreads a window's samples so that microbatches cost alike"),
      off("dataloader_drop_last", {"false"}, "no sample is dropped"),
      off("auto_find_batch_size", {"false"}, "the batch size is part of the plan",
          "write per_device_train_batch_size; samegrad train --dry-run estimates the memory"),
      off("per_gpu_train_batch_size", {}, "it was renamed", "write per_device_train_batch_size"),
      off("per_gpu_eval_batch_size", {}, "it was renamed", "write per_device_eval_batch_size"),
      off("label_names", {"[labels]", "labels"}, "a sample's labels are in its field labels",
          "name the field labels in the data (README.md)"),
      off("remove_unused_columns", {"true"}, "fields of a sample that have no meaning here are never read"),
      off("past_index", {"-1"}, "the models have no memory of an earlier batch"),
      off("use_cache", {"false"}, "the models have no memory of an earlier batch"),
      off("report_to", {"none", "[none]"}, "no tracker is used; every update is in outputs/metrics.jsonl"),
      off("project", {"huggingface"}, "no tracker is used", leave),
      off("trackio_space_id", {"trackio"}, "no tracker is used", leave),
      off("log_level", {"passive", "info", "warning"}, "news goes to standard error", "write --quiet for less of it"),
      off("log_level_replica", {"warning", "passive", "info"}, "rank 0 alone speaks", leave),
      off("debug", {}, "nothing of the Trainer's debugging is here", "see samegrad bisect and samegrad verify"),
      off("eval_delay", {"0"}, "validations begin with the first that is due"),
      off("eval_on_start", {"false"}, "validations begin with the first that is due", "run samegrad evaluate first"),
      off("eval_do_concat_batches", {"true"}, "an evaluation keeps sums, not predictions", leave),
      off("eval_use_gather_object", {"false"}, "an evaluation keeps sums, not predictions"),
      off("batch_eval_metrics", {"false"}, "an evaluation is loss and accuracy"),
      off("include_inputs_for_metrics", {"false"}, "an evaluation is loss and accuracy"),
      off("include_for_metrics", {}, "an evaluation is loss and accuracy"),
      off("use_legacy_prediction_loop", {"false"}, "there is one way to evaluate"),
      off("load_best_model_at_end", {"false"}, "the last model is the result",
          "write save_steps and eval_steps alike, and choose a checkpoint by outputs/metrics.jsonl"),
      off("save_safetensors", {"true"}, "every tensor is saved as safetensors"),
      off("save_only_model", {"false"}, "a checkpoint is always whole; model.safetensors in it is the model alone"),
      off("save_on_each_node", {"false"}, "rank 0 saves for all; every host must see its folder"),
      off("enable_jit_checkpoint", {"false"}, "SIGTERM always ends a run with a checkpoint", leave),
      off("restore_callback_states_from_checkpoint", {"false"}, "there are no callbacks"),
      off("ignore_data_skip", {"false"}, "a resume goes on with the very sample that is next"),
      off("push_to_hub", {"false"}, hub),
      off("hub_private_repo", {"false"}, hub),
      off("hub_always_push", {"false"}, hub),
      off("hub_revision", {}, hub),
      off("push_to_hub_model_id", {}, hub),
      off("push_to_hub_organization", {}, hub),
      off("push_to_hub_token", {}, hub),
  };
}

}  // namespace samegrad
