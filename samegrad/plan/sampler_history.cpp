#include "samegrad/plan/sampler_history.h"

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"

namespace samegrad {

namespace {

/// The member as T; a number must be a whole one of 0 or more.
template <typename T>
T member(const Json& json, const char* name, std::string_view file) {
  const auto fail = [&](const char* what) {
    throw CheckError("checkpoint", std::string(file) + ": member \"" + name + "\" " + what +
                                       "; the file is damaged or not of samegrad, use another checkpoint");
  };
  if (!json.is_object() || !json.contains(name)) fail("is missing");
  const Json& value = json[name];
  if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) fail("is not a string");
  } else {
    if (!value.is_number_integer() || value < 0) fail("is not a whole number of 0 or more");
  }
  return value.get<T>();
}

}  // namespace

void append_window(SamplerHistory& history, const PlanWindow& window, std::int64_t accumulation) {
  SAMEGRAD_CHECK_OP(window.update, ==, history.update + 1);
  const std::int64_t begin = history.virtual_rank * accumulation;
  SAMEGRAD_CHECK_OP(begin + accumulation, <=, static_cast<std::int64_t>(window.atoms.size()));
  Json microbatches = Json::array();
  for (std::int64_t atom = begin; atom < begin + accumulation; ++atom) {
    const Atom& ids = window.atoms[static_cast<std::size_t>(atom)];
    history.samples_consumed += static_cast<std::int64_t>(ids.size());
    microbatches.push_back(ids);
  }
  history.update = window.update;
  history.digest = sha256_hex(history.digest + microbatches.dump());
}

Json sampler_history_to_json(const SamplerHistory& history) {
  return {{"virtual_rank", history.virtual_rank},
          {"update", history.update},
          {"samples_consumed", history.samples_consumed},
          {"digest", history.digest}};
}

SamplerHistory sampler_history_from_json(const Json& json, std::int64_t virtual_rank, std::string_view file) {
  SamplerHistory history{.virtual_rank = member<std::int64_t>(json, "virtual_rank", file),
                         .update = member<std::int64_t>(json, "update", file),
                         .samples_consumed = member<std::int64_t>(json, "samples_consumed", file),
                         .digest = member<std::string>(json, "digest", file)};
  if (history.virtual_rank != virtual_rank) {
    throw CheckError("checkpoint", std::string(file) + ": history of virtual rank " +
                                       std::to_string(history.virtual_rank) + ", expected " +
                                       std::to_string(virtual_rank) + "; files were swapped, use another checkpoint");
  }
  return history;
}

}  // namespace samegrad
