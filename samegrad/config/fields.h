// Every field of RunConfig: its key, meaning, limits and other names. Loading, writing and checking a config all walk
// this one table, so none of them can forget a field.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "samegrad/config/run_config.h"

namespace samegrad {

/// Where a field's value lies in a RunConfig.
using FieldTarget = std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<double>*>;

/// least <= value <= most.
struct IntegerLimits {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// least <= value <= most, without the ends where they are open. Always finite.
struct NumberLimits {
  double least = 0;
  double most = 0;
  bool open_below = false;
  bool open_above = false;
};

/// One of `values`. `refused`: names that a user may expect, each with why it cannot be had.
struct ChoiceLimits {
  std::vector<std::string> values;
  std::map<std::string, std::string> refused;
};

/// Any value of the type; a list holds finite numbers of at least 0.
struct NoLimits {};

using FieldLimits = std::variant<NoLimits, IntegerLimits, NumberLimits, ChoiceLimits>;

struct Field {
  std::string key;      ///< "plan.updates": section, dot, name; "seed" has no section
  std::string meaning;  ///< one line
  FieldLimits limits;
  std::vector<std::string> aliases;  ///< Hugging Face Trainer's names
  bool decides_bits;                 ///< part of config_digest()
  FieldTarget (*target)(RunConfig&);

  /// "plan", or "" for seed.
  std::string section() const;
  /// "updates".
  std::string name() const;
};

/// Whether the field means anything in this config. One that does not is in neither its JSON nor its digest: the costs
/// of plan.balance lpt, under another balance. Local.
bool field_applies(const RunConfig& config, const Field& field);

/// All fields, in the order in which RunConfig declares them.
std::span<const Field> config_fields();

/// The field with this key or alias; nullptr where there is none.
const Field* find_field(std::string_view key_or_alias);

/// ", did you mean 'plan.updates'?" for a key that find_field() does not know, or nothing. Local.
std::string suggest_field(std::string_view unknown_key);

/// Section names in declaration order.
std::span<const std::string> config_sections();

/// What the field may hold, as a person reads it: "a whole number, 1 to 65536", "one of: sgd, adamw". Local.
std::string allowed_values(const Field& field);

}  // namespace samegrad
