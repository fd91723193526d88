#include "samegrad/config/explain.h"

#include <algorithm>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/nearest_name.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/resume_keys.h"
#include "samegrad/config/trainer_names.h"

namespace samegrad {
namespace {

std::string shown(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() ? "nothing" : text;
}

Json field_json(const Field& field, const RunConfig& config) {
  Json aliases = Json::object();
  for (const std::string& alias : field.aliases) {
    const TrainerName* const name = find_trainer_name(alias);
    aliases[alias] = name == nullptr ? "the same" : name->meaning;
  }
  const auto* const choices = std::get_if<ChoiceLimits>(&field.limits);
  return {{"key", field.key},
          {"meaning", field.meaning},
          {"value", field_to_json(config, field)},
          {"default", field_to_json(RunConfig(), field)},
          {"allowed", allowed_values(field)},
          {"aliases", aliases},
          {"decides_bits", field.decides_bits},
          {"resume_may_change", a_resume_may_change(field.key)},
          {"refused", choices == nullptr ? Json::object() : Json(choices->refused)}};
}

std::string field_text(const Json& field) {
  std::string text =
      field["key"].get<std::string>() + ": " + field["meaning"].get<std::string>() +
      "\n  value:   " + shown(field["value"]) + "\n  default: " + shown(field["default"]) +
      "\n  allowed: " + field["allowed"].get<std::string>() + "\n  bits:    " +
      (field["decides_bits"].get<bool>() ? "part of the config's digest: another value is another computation, "
                                         : "not part of the config's digest: ") +
      (field["resume_may_change"].get<bool>() ? "a resume may have another value" : "a resume refuses it") + "\n";
  for (const auto& [alias, meaning] : field["aliases"].items()) {
    text += "  also:    " + alias + (meaning == "the same" ? "" : " (" + meaning.get<std::string>() + ")") + "\n";
  }
  for (const auto& [value, reason] : field["refused"].items()) {
    text += "  refused: " + value + " is " + reason.get<std::string>() + "\n";
  }
  return text;
}

Explanation explain_name(const TrainerName& name) {
  std::string text = name.meaning;
  if (name.effect == TrainerEffect::kOption) text = "stands for " + name.option + "; " + text;
  if (name.effect == TrainerEffect::kNoEffect) text = "no effect here: " + text;
  if (name.effect == TrainerEffect::kOff) text = off_text(name);
  return {.text = name.name + ": " + text + "\n",
          .json = {{"key", name.name}, {"option", name.option}, {"meaning", text}}};
}

[[noreturn]] void refuse(const std::string& key) {
  std::string hint = suggest_field(key);
  if (hint.empty()) {
    hint = suggestion(key, config_sections());
  }
  throw InputError("config", "--explain " + key + ": unknown key" + hint + "; `samegrad config` lists them");
}

}  // namespace

Explanation explain_key(const std::string& key, const RunConfig& config) {
  if (const Field* const field = find_field(key)) {
    const Json json = field_json(*field, config);
    return {.text = field_text(json), .json = json};
  }
  if (const TrainerName* const name = find_trainer_name(key)) return explain_name(*name);
  Explanation all{.text = {}, .json = Json::array()};
  for (const Field& field : config_fields()) {
    if (field.section().empty() || field.section() != key) continue;
    all.json.push_back(field_json(field, config));
    all.text += (all.text.empty() ? "" : "\n") + field_text(all.json.back());
  }
  if (all.text.empty()) refuse(key);
  return all;
}

}  // namespace samegrad
