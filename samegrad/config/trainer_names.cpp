#include "samegrad/config/trainer_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

Translated refused(const std::string& reason) { return {.value = {}, .refused = reason}; }

bool is_none(const std::string& value) {
  constexpr std::array<std::string_view, 4> kNone = {"", "none", "None", "null"};
  return std::ranges::find(kNone, value) != kNone.end();
}

std::string none_as(const std::string& value, const char* none) { return is_none(value) ? none : value; }

Translated without_limit(const std::string& value) { return {none_as(value, "0")}; }
Translated any_backend(const std::string& value) { return {none_as(value, "auto")}; }
Translated updates_or_epochs(const std::string& value) { return {value == "-1" ? "0" : value}; }

/// The number that is all of `value`; NaN where it is none.
double number(const std::string& value) {
  double read = NAN;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  return error == std::errc{} && end == value.data() + value.size() ? read : NAN;
}

Translated whole_epochs(const std::string& value) {
  const double epochs = number(value);
  if (std::isfinite(epochs) && epochs != std::floor(epochs)) {
    return refused("a part of an epoch; give whole epochs, or the number of updates as max_steps");
  }
  const std::size_t point = value.find('.');
  return {std::isfinite(epochs) && point != std::string::npos ? value.substr(0, point) : value};
}

Translated whole_updates(const std::string& value) {
  if (value.find('.') != std::string::npos && std::isfinite(number(value))) {
    return refused("a part of the run; give a number of updates");
  }
  return {value};
}

Translated schedule_kind(const std::string& value) {
  constexpr std::array<std::string_view, 5> kOthers = {"cosine_with_restarts", "polynomial", "inverse_sqrt",
                                                       "reduce_lr_on_plateau", "warmup_stable_decay"};
  if (value == "constant_with_warmup") return {"constant"};
  if (value == "cosine_with_min_lr") return refused("write lr_scheduler_type cosine and schedule.minimum_factor");
  if (std::ranges::find(kOthers, value) != kOthers.end()) {
    return refused("not offered; constant, constant_with_warmup, linear and cosine are");
  }
  return {value};
}

Translated truth_value(const std::string& value) {
  constexpr std::array<std::string_view, 6> kBoth = {"true", "True", "TRUE", "false", "False", "FALSE"};
  if (!is_none(value) && std::ranges::find(kBoth, value) == kBoth.end()) {
    return refused("neither true nor false");
  }
  return {value};
}

Translated mebibytes(const std::string& value) {
  if (!is_none(value) && !(number(value) > 0)) return refused("no number above 0");
  return {value};
}

Translated folder(const std::string& value) {
  if (is_none(value)) return refused("a folder is needed, '.' is this one");
  return {value};
}

Translated checkpoint(const std::string& value) {
  if (value == "true" || value == "True" || value == "TRUE") return {"latest"};
  return {is_none(value) || value == "false" || value == "False" || value == "FALSE" ? "" : value};
}

Translated as_it_is(const std::string& value) { return {value}; }

std::vector<TrainerName> make_names() {
  return {
      {"max_steps", "", "-1, as in the Trainer: num_train_epochs decides", updates_or_epochs},
      {"num_train_epochs", "", "whole epochs only; 3.0 is 3", whole_epochs},
      {"per_device_train_batch_size", "",
       "the devices are those of plan.virtual_ranks: the window has that many batches on any number of processes",
       as_it_is},
      {"lr_scheduler_type", "",
       "constant_with_warmup is constant with schedule.warmup_updates; with constant the Trainer ignores warmup_steps, "
       "so "
       "the two together are refused",
       schedule_kind},
      {"warmup_steps", "", "update k has k/warmup_steps of the rate; the Trainer's first update has none of it",
       whole_updates},
      {"save_steps", "", "a whole number of updates; a part of the run is refused", whole_updates},
      {"eval_steps", "", "a whole number of updates; a part of the run is refused", whole_updates},
      {"logging_steps", "", "a whole number of updates; a part of the run is refused", whole_updates},
      {"save_total_limit", "", "null keeps all", without_limit},
      {"ddp_backend", "", "null is auto", any_backend},
      {"num_processes", "--nproc",
       "processes that are started on this host; unlike in the Trainer, they do not change the window's size "
       "(plan.virtual_ranks does)",
       as_it_is},
      {"output_dir", "--run", "the run's folder", folder},
      {"resume_from_checkpoint", "--resume", "a checkpoint's path; true: the latest; false: a new run", checkpoint},
      {"ddp_find_unused_parameters", "",
       "no effect here: every gradient of a window begins as zeros on all ranks and no graph is searched, so an unused "
       "parameter is no special case, with gradient_checkpointing too",
       truth_value},
      {"ddp_bucket_cap_mb", "",
       "no effect here: a window's gradient is exchanged once, as a whole, in pieces that change no bits", mebibytes},
      {"ddp_broadcast_buffers", "",
       "no effect here: the models have no buffers, so gradient_checkpointing cannot meet one that a broadcast changed",
       truth_value},
  };
}

}  // namespace

std::span<const TrainerName> trainer_names() {
  static const std::vector<TrainerName> kNames = make_names();
  return kNames;
}

const TrainerName* find_trainer_name(std::string_view name) {
  const auto names = trainer_names();
  const auto found = std::ranges::find(names, name, &TrainerName::name);
  return found == names.end() ? nullptr : &*found;
}

std::string translate_value(std::string_view name, const std::string& value, const std::string& where) {
  const TrainerName* const known = find_trainer_name(name);
  if (known == nullptr) return value;
  Translated translated = known->translate(value);
  if (translated.refused.empty()) return translated.value;
  throw InputError("config", where + ": " + known->name + ": '" + value.substr(0, 80) + "' is " + translated.refused);
}

}  // namespace samegrad
