#include <algorithm>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

Json& slot(Json& json, const Field& field) {
  const std::string section = field.section();
  return section.empty() ? json[field.name()] : json[section][field.name()];
}

[[noreturn]] void refuse(const std::string& message) { throw InputError("config", "JSON config: " + message); }

void require_object(const Json& json, const std::string& what) {
  if (!json.is_object()) {
    refuse(what + " is no object");
  }
}

void refuse_unknown_keys(const Json& json) {
  require_object(json, "it");
  const auto sections = config_sections();
  for (const auto& [key, value] : json.items()) {
    if (std::find(sections.begin(), sections.end(), key) == sections.end()) {
      if (key != "seed") {
        refuse("unknown key '" + key + "'");
      }
      continue;
    }
    require_object(value, key);
    for (const auto& entry : value.items()) {
      const Field* const field = find_field(key + "." + entry.key());
      if (field == nullptr) {
        refuse("unknown key '" + key + "." + entry.key() + "'");
      }
    }
  }
}

/// Null where it is missing.
const Json* member(const Json& json, const Field& field) {
  const std::string section = field.section();
  const Json* const holder = section.empty() ? &json : (json.contains(section) ? &json[section] : nullptr);
  return holder == nullptr || !holder->contains(field.name()) ? nullptr : &(*holder)[field.name()];
}

}  // namespace

Json config_to_json(const RunConfig& config) {
  Json json = Json::object();
  for (const Field& field : config_fields()) {
    if (field_applies(config, field)) slot(json, field) = field_to_json(config, field);
  }
  return json;
}

RunConfig config_from_json(const Json& json) {
  refuse_unknown_keys(json);
  RunConfig config;
  for (const Field& field : config_fields()) {
    // A field that decides whether another one applies stands before it.
    if (!field_applies(config, field)) continue;
    const Json* const value = member(json, field);
    if (value == nullptr && field.decides_bits) refuse("no '" + field.key + "'");
    if (value != nullptr) set_field_from_json(config, field, *value, "JSON config");
  }
  validate_config(config);
  return config;
}

std::string config_digest(const RunConfig& config) {
  Json json = Json::object();
  for (const Field& field : config_fields()) {
    if (field.decides_bits && field_applies(config, field)) {
      slot(json, field) = field_to_json(config, field);
    }
  }
  return sha256_hex(json.dump());
}

}  // namespace samegrad
