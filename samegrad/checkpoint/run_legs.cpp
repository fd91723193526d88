#include "samegrad/checkpoint/run_legs.h"

#include <array>
#include <cstdio>
#include <random>

#include "samegrad/base/untrusted_json.h"

namespace samegrad {

RunLegs RunLegs::from_json(const Json& json) {
  RunLegs legs;
  for (const Json& leg : json) {
    legs.legs_.push_back({.id = leg.at("id").get<std::string>(), .from = whole_number(leg.at("from"), 0)});
  }
  return legs;
}

Json RunLegs::to_json() const {
  Json json = Json::array();
  for (const Leg& leg : legs_) json.push_back({{"id", leg.id}, {"from", leg.from}});
  return json;
}

std::string RunLegs::begin(std::int64_t from) {
  std::random_device device;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x%08x", device(), device());
  std::string id = digits.data();
  std::erase_if(legs_, [&](const Leg& leg) { return leg.from >= from; });
  legs_.emplace_back(Leg{.id = id, .from = from});
  return id;
}

std::string RunLegs::taken_back(const Manifest& manifest) const {
  const Json id = manifest.facts.is_object() ? manifest.facts.value("leg", Json()) : Json();
  const std::string own = id.is_string() ? id.get<std::string>() : std::string();
  std::size_t later = 0;  // the first leg after its own
  for (std::size_t i = 0; i < legs_.size(); ++i) {
    if (legs_[i].id == own) later = i + 1;
  }
  for (; later < legs_.size(); ++later) {
    if (legs_[later].from < manifest.update) {
      return "of a part of the run that a resume from update " + std::to_string(legs_[later].from) + " took back";
    }
  }
  return {};
}

}  // namespace samegrad
