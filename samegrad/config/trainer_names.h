// Names of the Hugging Face Trainer (its TrainingArguments) whose values are written in another way than the field's,
// or that no field takes. Plain aliases stand with their field (config/fields.h). docs/trainer-names.md lists all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/config/origins.h"

namespace samegrad {

/// A value as the field or option takes it, or why it has no meaning here.
struct Translated {
  std::string value;
  std::string refused = {};
};

enum class TrainerEffect : std::uint8_t {
  kField,     ///< an alias of a field, whose value is written otherwise
  kOption,    ///< stands for a command-line option
  kRule,      ///< acts together with other names (config/trainer_rules.h)
  kNoEffect,  ///< any value that the Trainer takes; the start of a run says why it does nothing
  kOff        ///< only where its value asks for nothing
};

struct TrainerName {
  std::string name;
  TrainerEffect effect = TrainerEffect::kField;
  std::string meaning;                                          ///< what it does here, or why nothing
  Translated (*translate)(const std::string& value) = nullptr;  ///< null: every value as it is
  std::string option = {};                                      ///< kOption: which
  std::vector<std::string> off = {};                            ///< kOff: the values that ask for nothing, beside null
  std::string instead = {};                                     ///< kOff: what to write for another value
};

/// The names whose effect is not kOff, then those.
std::span<const TrainerName> trainer_names();

/// nullptr where there is none of that name. Local.
const TrainerName* find_trainer_name(std::string_view name);

/// Part of trainer_names(): kOff.
std::vector<TrainerName> names_accepted_where_off();

/// Whether the value means nothing at all: null, none, [] or {}. Local.
bool is_none(std::string_view value);

/// "accepted where it is false or null, and not offered otherwise: everything is computed in float32". Of a kOff name.
/// Local.
std::string off_text(const TrainerName& name);

/// The number that is all of `value`; NaN where it is none. Local.
double number_in(std::string_view value);

/// The value of `origin` as the field or option of its name takes it; unchanged where the two are written alike. Throws
/// InputError "[config] WHERE: NAME: ..." for a value that has no meaning here. Local.
std::string translate_value(const Origin& origin);

}  // namespace samegrad
