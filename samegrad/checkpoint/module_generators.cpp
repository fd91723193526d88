#include "samegrad/checkpoint/module_generators.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <string_view>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad::checkpoint {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hex(const at::Tensor& bytes) {
  std::string text;
  for (std::int64_t i = 0; i < bytes.numel(); ++i) {
    const std::uint8_t byte = bytes.const_data_ptr<std::uint8_t>()[i];
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Undefined where `text` is not hexadecimal.
at::Tensor bytes_of(const std::string& text) {
  if (text.size() % 2 != 0 || text.find_first_not_of(kDigits) != std::string::npos) return {};
  at::Tensor bytes = at::empty(static_cast<std::int64_t>(text.size() / 2), at::TensorOptions(at::kByte));
  for (std::size_t i = 0; i < text.size() / 2; ++i) {
    bytes.mutable_data_ptr<std::uint8_t>()[i] =
        static_cast<std::uint8_t>(kDigits.find(text[2 * i]) * 16 + kDigits.find(text[2 * i + 1]));
  }
  return bytes;
}

Json keys_of(const Json& object) {
  Json names = Json::array();
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

Json generator_names(const std::vector<NamedGenerator>& generators) {
  Json names = Json::array();
  for (const NamedGenerator& named : generators) names.push_back(named.name);
  return names;
}

Json rank_values(const std::vector<NamedGenerator>& generators, const Json& rank_extra) {
  if (generators.empty() && rank_extra.is_null()) return nullptr;
  Json states = Json::object();
  for (const NamedGenerator& named : generators) {
    at::Generator generator = named.generator;
    if (!generator.defined() || states.contains(named.name)) {
      throw InputError("checkpoint",
                       "generator '" + printable(named.name) + "': it is undefined, or the name is given twice");
    }
    const std::lock_guard lock(generator.mutex());
    states[named.name] = hex(generator.get_state());
  }
  return {{"generators", states}, {"extra", rank_extra}};
}

std::function<void()> prepare_rank_values(const Checkpoint& checkpoint, int rank, int ranks,
                                          const std::vector<NamedGenerator>& generators, Json& rank_extra) {
  const std::string folder = checkpoint.path.string();
  const std::size_t saved = checkpoint.rank_files.size();
  if (saved == 0) {
    if (generators.empty()) return [] {};
    throw CheckError("checkpoint", folder + ": holds no states of generators; here " +
                                       printable_json(generator_names(generators)) +
                                       " are given: leave them out, and seed them");
  }
  if (saved != static_cast<std::size_t>(ranks)) {
    throw InputError("checkpoint", folder + ": holds values of each rank (rank-0.json: generators " +
                                       printable_json(keys_of(checkpoint.rank_files[0].value("generators", Json()))) +
                                       "), saved by " + std::to_string(saved) + " ranks; here are " +
                                       std::to_string(ranks) + ": start " + std::to_string(saved) +
                                       ", or save without values of each rank");
  }
  const std::string name = (checkpoint.path / rank_file_name(static_cast<std::size_t>(rank))).string();
  const Json& values = checkpoint.rank_files[static_cast<std::size_t>(rank)];
  const Json states = values.value("generators", Json::object());
  if (keys_of(states) != generator_names(generators)) {
    throw CheckError("checkpoint", name + ": generators " + printable_json(keys_of(states)) + "; here " +
                                       printable_json(generator_names(generators)));
  }
  std::vector<at::Tensor> prepared;
  for (const NamedGenerator& named : generators) {
    prepared.push_back(bytes_of(states[named.name].is_string() ? states[named.name].get<std::string>() : "?"));
    try {
      if (!prepared.back().defined()) throw CheckError("checkpoint", "not hexadecimal");
      at::Generator trial = named.generator.clone();
      trial.set_state(prepared.back());
    } catch (const std::exception&) {
      throw CheckError("checkpoint", name + ": the state of generator '" + printable(named.name) +
                                         "' is none of the generator here, of device " +
                                         named.generator.device().str());
    }
  }
  rank_extra = values.value("extra", Json());
  return [generators, prepared] {
    for (std::size_t i = 0; i < generators.size(); ++i) {
      at::Generator generator = generators[i].generator;
      const std::lock_guard lock(generator.mutex());
      generator.set_state(prepared[i]);
    }
  };
}

}  // namespace samegrad::checkpoint
