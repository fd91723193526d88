#include "samegrad/config/origins.h"

#include <algorithm>
#include <utility>

#include "samegrad/config/fields.h"

namespace samegrad {

std::string place_of(const Origin& origin) { return origin.where.empty() ? "" : origin.where + ": "; }

void Origins::set(const std::string& key, Origin origin) {
  const Field* const field = find_field(key);
  by_aliases_ = by_aliases_ || (field != nullptr && field->key != origin.name &&
                                std::ranges::find(field->aliases, origin.name) != field->aliases.end());
  origins_[key] = std::move(origin);
}

const Origin* Origins::find(std::string_view key) const {
  const auto found = origins_.find(key);
  return found == origins_.end() ? nullptr : &found->second;
}

std::string Origins::name(std::string_view key) const {
  if (const Origin* const origin = find(key)) return origin->name;
  const Field* const field = by_aliases_ ? find_field(key) : nullptr;
  return field == nullptr || field->aliases.empty() ? std::string(key) : field->aliases.front();
}

std::string Origins::said(std::string_view key, const std::string& value) const {
  const Origin* const origin = find(key);
  return name(key) + ": " + (origin == nullptr ? value : origin->given);
}

std::string Origins::places(std::initializer_list<std::string_view> keys) const {
  std::string text;
  for (const std::string_view key : keys) {
    const Origin* const origin = find(key);
    if (origin == nullptr || origin->where.empty() || text.find(origin->where + ", ") != std::string::npos) continue;
    text += origin->where + ", ";
  }
  return text.empty() ? "" : text.substr(0, text.size() - 2) + ": ";
}

}  // namespace samegrad
