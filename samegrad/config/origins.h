// Who gave each field its value, so that a refusal speaks in the words of the person who wrote it.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "samegrad/config/run_config.h"

namespace samegrad {

struct Origin {
  std::string name;   ///< key, alias or option, as it was written: "max_steps"
  std::string given;  ///< value, as it was written
  std::string where;  ///< "configs/text.yaml:12", "--set max_steps=10"; empty: the name is the whole place (an option)
};

/// "configs/text.yaml:12: ", or nothing. Local.
std::string place_of(const Origin& origin);

class Origins {
 public:
  /// Of the field `key`; the newest counts.
  void set(const std::string& key, Origin origin);
  /// nullptr where nobody gave it.
  const Origin* find(std::string_view key) const;

  /// The field's name as it was written. One that nobody gave is called by its key, or by its alias where other fields
  /// were. Local.
  std::string name(std::string_view key) const;
  /// "max_steps: -1": name and value as they were written; where nobody gave it, `value`. Local.
  std::string said(std::string_view key, const std::string& value) const;
  /// Where those of `keys` that were given were written: "a.yaml:3, --set max_steps=6: ", or nothing. Local.
  std::string places(std::initializer_list<std::string_view> keys) const;

 private:
  std::map<std::string, Origin, std::less<>> origins_;
  bool by_aliases_ = false;
};

/// validate_config (config/load.h), in the words of `origins`. Local.
void validate_config(const RunConfig& config, const Origins& origins);

}  // namespace samegrad
