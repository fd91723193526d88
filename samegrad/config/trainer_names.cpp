#include "samegrad/config/trainer_names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

using enum TrainerEffect;

Translated refused(const std::string& reason) { return {.value = {}, .refused = reason}; }

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

bool is_true(std::string_view value) { return is_one_of(value, {"true", "True", "TRUE"}); }
bool is_false(std::string_view value) { return is_one_of(value, {"false", "False", "FALSE"}); }

std::string none_as(const std::string& value, const char* none) { return is_none(value) ? none : value; }

Translated without_limit(const std::string& value) { return {none_as(value, "0")}; }
Translated any_backend(const std::string& value) { return {none_as(value, "auto")}; }
Translated updates_or_epochs(const std::string& value) { return {value == "-1" ? "0" : value}; }

Translated whole_epochs(const std::string& value) {
  const double epochs = number_in(value);
  if (std::isfinite(epochs) && epochs != std::floor(epochs)) {
    return refused("a part of an epoch; give whole epochs, or the number of updates as max_steps");
  }
  const std::size_t point = value.find('.');
  return {std::isfinite(epochs) && point != std::string::npos ? value.substr(0, point) : value};
}

Translated whole_updates(const std::string& value) {
  if (value.find('.') != std::string::npos && std::isfinite(number_in(value))) {
    return refused("a part of the run; give a number of updates");
  }
  return {value};
}

Translated schedule_kind(const std::string& value) {
  if (value == "constant_with_warmup") return {"constant"};
  if (value == "cosine_with_min_lr") {
    return refused("not a name here; write lr_scheduler_type cosine and schedule.minimum_factor");
  }
  if (is_one_of(value, {"cosine_with_restarts", "polynomial", "inverse_sqrt", "reduce_lr_on_plateau",
                        "warmup_stable_decay", "cosine_warmup_with_min_lr"})) {
    return refused("not offered; constant, constant_with_warmup, linear and cosine are");
  }
  return {value};
}

Translated optimizer_kind(const std::string& value) {
  if (is_one_of(value, {"adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw"})) return {"adamw"};
  if (value == "sgd") return {value};
  return refused("not offered; write adamw_torch or sgd");
}

Translated cpu_if_true(const std::string& value) {
  if (is_true(value)) return {"cpu"};
  if (is_false(value) || is_none(value)) return {"auto"};
  return refused("neither true nor false; write one of them");
}

Translated truth_value(const std::string& value) {
  if (!is_none(value) && !is_true(value) && !is_false(value))
    return refused("neither true nor false; write one of them");
  return {value};
}

Translated mebibytes(const std::string& value) {
  if (!is_none(value) && !(number_in(value) > 0)) return refused("no number above 0; write MiB, or null");
  return {value};
}

Translated count_or_none(const std::string& value) {
  const double count = number_in(value);
  if (!is_none(value) && !(count >= 0 && count == std::floor(count)))
    return refused("no whole number, at least 0; write one, or null");
  return {value};
}

Translated processes(const std::string& value) {
  const double count = number_in(value);
  if (!(count >= 1 && count == std::floor(count)))
    return refused("no whole number, at least 1; write how many to start");
  return {value};
}

Translated folder(const std::string& value) {
  if (is_none(value)) return refused("no folder; one is needed, '.' is this one");
  return {value};
}

Translated checkpoint(const std::string& value) {
  if (is_true(value)) return {"latest"};
  return {is_none(value) || is_false(value) ? "" : value};
}

Translated part_of_the_run(const std::string& value) {
  const double part = number_in(none_as(value, "0"));
  if (!(part >= 0 && part <= 1)) return refused("no part of the run; write a number, 0 to 1");
  return {none_as(value, "0")};
}

Translated strategy(const std::string& value, const std::string& steps) {
  if (is_one_of(value, {"steps", "no"})) return {value};
  if (is_none(value) || is_false(value)) return {"no"};  // YAML 1.1 reads no as false
  return refused("not offered; write steps, and " + steps + ": N, in updates; or no");
}

Translated save_strategy(const std::string& value) { return strategy(value, "save_steps"); }
Translated eval_strategy(const std::string& value) { return strategy(value, "eval_steps"); }
Translated logging_strategy(const std::string& value) {
  if (value == "steps") return {value};
  return refused("not offered; write steps, and logging_steps: N, in updates; or --quiet on the command line");
}

std::vector<TrainerName> names_that_act() {
  const std::string whole = "a whole number of updates; a part of the run is refused";
  return {
      {"max_steps", kField, "-1, as in the Trainer: num_train_epochs decides", updates_or_epochs},
      {"num_train_epochs", kField, "whole epochs only; 3.0 is 3", whole_epochs},
      {"per_device_train_batch_size", kField,
       "the devices are those of plan.virtual_ranks: the window has that many batches on any number of processes"},
      {"optim", kField, "adamw_torch, adamw_torch_fused and adamw_hf are adamw; sgd; others are refused",
       optimizer_kind},
      {"weight_decay", kField, "on every parameter; the Trainer leaves out biases and those of norms"},
      {"lr_scheduler_type", kField,
       "constant_with_warmup is constant with schedule.warmup_updates; with constant the Trainer ignores a warm-up, so "
       "the two together are refused",
       schedule_kind},
      {"warmup_steps", kField, "update k has k/warmup_steps of the rate; the Trainer's first update has none of it",
       whole_updates},
      {"warmup_ratio", kRule,
       "sets schedule.warmup_updates to this part of max_steps, rounded up; needs max_steps, and no warmup_steps",
       part_of_the_run},
      {"save_strategy", kRule, "steps, with save_steps; no, without it: only at a stop and at the end", save_strategy},
      {"eval_strategy", kRule, "steps, with eval_steps; no, without it: only at the end", eval_strategy},
      {"evaluation_strategy", kRule, "the older name of eval_strategy", eval_strategy},
      {"logging_strategy", kRule, "steps: logging_steps decides, else logging.every", logging_strategy},
      {"save_steps", kField, whole, whole_updates},
      {"eval_steps", kField, whole, whole_updates},
      {"logging_steps", kField, whole, whole_updates},
      {"save_total_limit", kField, "null keeps all", without_limit},
      {"ddp_backend", kField, "null is auto", any_backend},
      {"use_cpu", kField, "true is cpu, false is auto", cpu_if_true},
      {"no_cuda", kField, "true is cpu, false is auto", cpu_if_true},
      {"num_processes", kOption,
       "processes that are started on this host; unlike in the Trainer, they do not change the window's size "
       "(plan.virtual_ranks does)",
       processes, "--nproc"},
      {"output_dir", kOption, "the run's folder", folder, "--run"},
      {"resume_from_checkpoint", kOption, "a checkpoint's path; true: the latest; false: a new run", checkpoint,
       "--resume"},
      {"ddp_find_unused_parameters", kNoEffect,
       "every gradient of a window begins as zeros on all ranks and no graph is searched, so an unused parameter is no "
       "special case, with gradient_checkpointing too",
       truth_value},
      {"ddp_bucket_cap_mb", kNoEffect,
       "a window's gradient is exchanged once, as a whole, in pieces that change no bits", mebibytes},
      {"ddp_broadcast_buffers", kNoEffect,
       "the models have no buffers, so gradient_checkpointing cannot meet one that a broadcast changed", truth_value},
      {"dataloader_num_workers", kNoEffect, "samples are read by a thread, without processes of their own",
       count_or_none},
      {"dataloader_prefetch_factor", kNoEffect, "data.prefetch says whether the next window is built ahead",
       count_or_none},
      {"dataloader_pin_memory", kNoEffect, "it is for GPUs", truth_value},
      {"dataloader_persistent_workers", kNoEffect, "samples are read without processes of their own", truth_value},
      {"torch_empty_cache_steps", kNoEffect, "it is for GPUs", count_or_none},
      {"eval_accumulation_steps", kNoEffect, "an evaluation keeps sums, not predictions", count_or_none},
      {"overwrite_output_dir", kNoEffect, "without --resume a new run starts, also in a used folder", truth_value},
      {"full_determinism", kNoEffect, "the same run always has the same bits", truth_value},
      {"do_eval", kNoEffect, "data.validation, where it is given, is evaluated at the end and by eval_steps",
       truth_value},
      {"prediction_loss_only", kNoEffect, "an evaluation is loss and accuracy", truth_value},
      {"logging_dir", kNoEffect, "every update is in outputs/metrics.jsonl of the run's folder"},
      {"logging_first_step", kNoEffect, "the first update always has a line", truth_value},
      {"logging_nan_inf_filter", kNoEffect, "a loss is shown as it is", truth_value},
      {"log_on_each_node", kNoEffect, "rank 0 alone speaks", truth_value},
      {"disable_tqdm", kNoEffect, "there is one line of progress; --quiet leaves it out", truth_value},
      {"run_name", kNoEffect, "it is a tracker's, and none is used"},
      {"include_num_input_tokens_seen", kNoEffect, "outputs/metrics.jsonl counts tokens always"},
      {"include_tokens_per_second", kNoEffect, "outputs/metrics.jsonl has them always", truth_value},
      {"skip_memory_metrics", kNoEffect, "--dry-run estimates the memory", truth_value},
      {"metric_for_best_model", kNoEffect, "it belongs to load_best_model_at_end, which is not offered"},
      {"greater_is_better", kNoEffect, "it belongs to load_best_model_at_end, which is not offered", truth_value},
      {"hub_model_id", kNoEffect, "it belongs to push_to_hub, which is not offered"},
      {"hub_strategy", kNoEffect, "it belongs to push_to_hub, which is not offered"},
      {"hub_token", kNoEffect, "it belongs to push_to_hub, which is not offered"},
      {"fsdp_config", kNoEffect, "it belongs to fsdp, which is not offered"},
      {"length_column_name", kNoEffect, "it belongs to group_by_length, which is not offered"},
      {"gradient_checkpointing_kwargs", kNoEffect, "the models recompute their layers in their own way"},
      {"ray_scope", kNoEffect, "it is for Ray, which is not used"},
  };
}

std::vector<TrainerName> make_names() {
  std::vector<TrainerName> names = names_that_act();
  std::ranges::move(names_accepted_where_off(), std::back_inserter(names));
  return names;
}

bool same_value(std::string_view a, std::string_view b) {
  const auto same_letter = [](char x, char y) { return std::tolower(x) == std::tolower(y); };
  return std::ranges::equal(a, b, same_letter) || number_in(a) == number_in(b);  // NaN equals nothing
}

Translated value_of(const TrainerName& name, const std::string& value) {
  if (name.effect != kOff) return name.translate == nullptr ? Translated{value} : name.translate(value);
  const auto is_off = [&](const std::string& off) { return same_value(value, off); };
  if (is_none(value) || std::ranges::any_of(name.off, is_off)) return {value};
  return refused("not offered: " + name.meaning + "; " +
                 (name.instead.empty() ? "write " + name.name + ": " + (name.off.empty() ? "null" : name.off.front()) +
                                             ", or leave it out"
                                       : name.instead));
}

}  // namespace

bool is_none(std::string_view value) { return is_one_of(value, {"", "none", "None", "null", "~", "[]", "{}"}); }

std::string off_text(const TrainerName& name) {
  std::string values;
  for (const std::string& off : name.off) values += off + ", ";
  return "accepted where it is " + values + (values.empty() ? "" : "or ") +
         "null, not offered otherwise: " + name.meaning + (name.instead.empty() ? "" : "; " + name.instead);
}

double number_in(std::string_view value) {
  double read = NAN;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  return error == std::errc{} && end == value.data() + value.size() ? read : NAN;
}

std::span<const TrainerName> trainer_names() {
  static const std::vector<TrainerName> kNames = make_names();
  return kNames;
}

const TrainerName* find_trainer_name(std::string_view name) {
  const auto names = trainer_names();
  const auto found = std::ranges::find(names, name, &TrainerName::name);
  return found == names.end() ? nullptr : &*found;
}

std::string translate_value(const Origin& origin) {
  const TrainerName* const known = find_trainer_name(origin.name);
  if (known == nullptr) return origin.given;
  Translated translated = value_of(*known, origin.given);
  if (translated.refused.empty()) return translated.value;
  throw InputError("config",
                   place_of(origin) + origin.name + ": '" + origin.given.substr(0, 80) + "' is " + translated.refused);
}

}  // namespace samegrad
