// Names of the Hugging Face Trainer whose values are written in another way than the field's, or that no field takes.
// Plain aliases stand with their field (config/fields.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace samegrad {

/// A value as the field or option takes it, or why it has no meaning here.
struct Translated {
  std::string value;
  std::string refused = {};
};

struct TrainerName {
  std::string name;
  std::string option;   ///< the command-line option it stands for; empty: none
  std::string meaning;  ///< what it does here; where neither a field nor an option takes it, why it has no effect
  Translated (*translate)(const std::string& value);
};

std::span<const TrainerName> trainer_names();

/// nullptr where there is none of that name. Local.
const TrainerName* find_trainer_name(std::string_view name);

/// `value` of `name` as the field of that alias takes it; unchanged where the two are written alike. Throws InputError
/// "[config] WHERE: ..." for a value that has no meaning here. Local.
std::string translate_value(std::string_view name, const std::string& value, const std::string& where);

}  // namespace samegrad
