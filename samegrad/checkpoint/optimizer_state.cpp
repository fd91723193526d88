#include "samegrad/checkpoint/optimizer_state.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <concepts>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/optimizer_kinds.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad::checkpoint {
namespace {

using Betas = std::tuple<double, double>;

Json option_json(const std::string& name, double value) {
  if (!std::isfinite(value)) {
    throw InputError("checkpoint", "optimizer: option " + name + " is " + std::to_string(value) +
                                       ", which JSON cannot hold; give it a finite value");
  }
  return value;
}
Json option_json(const std::string& /*name*/, bool value) { return value; }
Json option_json(const std::string& name, const Betas& value) {
  return Json::array({option_json(name, std::get<0>(value)), option_json(name, std::get<1>(value))});
}

/// Whether `json` is a value of the option's type; then it is in `value`.
bool read_option(const Json& json, double& value) {
  if (json.is_number()) value = json.get<double>();
  return json.is_number();
}
bool read_option(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}
bool read_option(const Json& json, Betas& value) {
  return json.is_array() && json.size() == 2 && read_option(json[0], std::get<0>(value)) &&
         read_option(json[1], std::get<1>(value));
}

std::vector<std::string> parameter_names(const torch::optim::OptimizerParamGroup& group, std::size_t index,
                                         const ModuleTensors& module) {
  std::vector<std::string> names;
  for (const at::Tensor& parameter : group.params()) {
    names.push_back(module.name_of(parameter));
    if (names.back().empty()) {
      throw InputError("checkpoint", "optimizer: parameter " + std::to_string(names.size() - 1) + " of group " +
                                         std::to_string(index) +
                                         " is none of the model's, so it has no name; give the model that holds it");
    }
  }
  return names;
}

/// Every parameter that the optimizer works on, by name; one that stands in it twice, once.
std::map<std::string, at::Tensor> parameters_of(const torch::optim::Optimizer& optimizer, const ModuleTensors& module) {
  std::map<std::string, at::Tensor> parameters;
  for (std::size_t i = 0; i < optimizer.param_groups().size(); ++i) {
    const torch::optim::OptimizerParamGroup& group = optimizer.param_groups()[i];
    const std::vector<std::string> names = parameter_names(group, i, module);
    for (std::size_t p = 0; p < names.size(); ++p) parameters.emplace(names[p], group.params()[p]);
  }
  return parameters;
}

/// One optimizer file, held against one optimizer.
class OptimizerFile {
 public:
  explicit OptimizerFile(const std::filesystem::path& path)
      : file_(path), name_(path.string()), options_(read_optimizer_options(file_)) {}

  [[noreturn]] void refuse(const std::string& what) const { throw CheckError("checkpoint", name_ + ": " + what); }

  void check_kind(const std::string& here) const {
    const Json kind = options_.is_object() ? options_.value("kind", Json()) : Json();
    if (kind == here) return;
    refuse("optimizer of kind " + printable_json(kind) + "; here it is \"" + here + "\"" +
           (here == "none" ? ": give the optimizer, or load the model alone with load_model()" : ""));
  }

  /// The options of each group, after the groups have been found to hold the same parameters.
  template <typename Kind>
  std::vector<typename Kind::Options> read_options(const torch::optim::Optimizer& optimizer,
                                                   const ModuleTensors& module) const {
    const Json groups = options_.value("groups", Json());
    const std::size_t count = optimizer.param_groups().size();
    if (!groups.is_array() || groups.size() != count) {
      refuse(std::to_string(groups.size()) + " groups of parameters; here there are " + std::to_string(count));
    }
    std::vector<typename Kind::Options> read;
    for (std::size_t i = 0; i < count; ++i) {
      const torch::optim::OptimizerParamGroup& group = optimizer.param_groups()[i];
      const std::string which = "group " + std::to_string(i) + ": ";
      const Json names = parameter_names(group, i, module);
      const Json saved = groups[i].is_object() ? groups[i].value("parameters", Json()) : Json();
      if (saved != names) {
        refuse(which + "its parameters are " + printable_json(saved) + "; here " + printable_json(names));
      }
      read.push_back(static_cast<const typename Kind::Options&>(group.options()));
      read_group<Kind>(groups[i].value("options", Json::object()), which, read.back());
    }
    return read;
  }

  /// The state of `parameter`; null where the file has none of it.
  template <typename Kind>
  std::unique_ptr<typename Kind::State> read_state(const std::string& parameter, const at::Tensor& like) {
    auto state = std::make_unique<typename Kind::State>();
    std::vector<std::string> missing;
    std::size_t found = 0;
    Kind::state(*state, [&](const char* member, auto& value, Presence presence) {
      const std::string name = parameter + "." + member;
      const TensorView* view = file_.find(name);
      if (view != nullptr) {
        read_.insert(name);
        ++found;
        read_member(*view, like, value);
      } else if (presence == Presence::kAlways) {
        missing.push_back(name);
      }
    });
    if (found > 0 && !missing.empty()) refuse("tensor '" + missing.front() + "' is missing");
    return found == 0 ? nullptr : std::move(state);
  }

  void check_all_read() const {
    for (const TensorView& view : file_.tensors()) {
      if (!read_.contains(view.name)) {
        refuse("tensor '" + printable(view.name) + "' is surplus; the optimizer here has no such state");
      }
    }
  }

 private:
  template <typename Kind>
  void read_group(const Json& options, const std::string& which, typename Kind::Options& into) const {
    std::size_t members = 0;
    Kind::options(into, [&](const char* name, auto& value) {
      ++members;
      const Json saved = options.is_object() ? options.value(name, Json()) : Json();
      if (!read_option(saved, value)) refuse(which + "its option " + name + " is " + printable_json(saved));
    });
    if (options.size() != members) refuse(which + "it has options that " + Kind::kName + " has not");
  }

  void read_member(const TensorView& view, const at::Tensor& /*like*/, std::int64_t& value) const {
    value = read_tensor_like(view, at::scalar_tensor(0, at::kLong), name_).item<std::int64_t>();
    if (value < 0) refuse("tensor '" + printable(view.name) + "' is " + std::to_string(value) + " steps");
  }
  void read_member(const TensorView& view, const at::Tensor& like, at::Tensor& value) const {
    value = at::empty_like(like.detach());  // in the parameter's own layout and device
    value.copy_(read_tensor_like(view, like, name_));
  }

  SafetensorsFile file_;
  std::string name_;
  Json options_;
  std::unordered_set<std::string> read_;
};

/// Everything that replaces what is in the optimizer.
template <typename Kind>
struct Prepared {
  std::vector<typename Kind::Options> options;
  std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())> states;
};

}  // namespace

StoredOptimizer stored_optimizer(const torch::optim::Optimizer* optimizer, const ModuleTensors& module) {
  if (optimizer == nullptr) return {.tensors = {}, .options = {{"kind", "none"}}};
  return with_optimizer_kind(*optimizer, [&]<typename Kind>(Kind) {
    StoredOptimizer stored;
    Json groups = Json::array();
    for (std::size_t i = 0; i < optimizer->param_groups().size(); ++i) {
      const torch::optim::OptimizerParamGroup& group = optimizer->param_groups()[i];
      auto options = static_cast<const typename Kind::Options&>(group.options());
      Json members = Json::object();
      Kind::options(options, [&](const char* name, auto& value) { members[name] = option_json(name, value); });
      groups.push_back({{"parameters", parameter_names(group, i, module)}, {"options", members}});
    }
    for (const auto& [parameter_name, parameter] : parameters_of(*optimizer, module)) {
      const std::string& name = parameter_name;  // a lambda may not capture a structured binding
      const auto found = optimizer->state().find(parameter.unsafeGetTensorImpl());
      if (found == optimizer->state().end()) continue;  // no step has seen a gradient of it yet
      auto state = static_cast<const typename Kind::State&>(*found->second);
      Kind::state(state, [&]<typename Value>(const char* member, Value& value, Presence) {
        const std::string tensor = name + "." + member;
        if constexpr (std::same_as<Value, std::int64_t>) {
          stored.tensors.push_back(stored_tensor(tensor, at::scalar_tensor(value, at::kLong)));
        } else if (value.defined()) {
          stored.tensors.push_back(stored_tensor(tensor, value));
        }
      });
    }
    stored.options = {{"kind", Kind::kName}, {"groups", groups}};
    return stored;
  });
}

std::function<void()> prepare_optimizer(const std::filesystem::path& path, const ModuleTensors& module,
                                        torch::optim::Optimizer* optimizer) {
  const auto file = std::make_shared<OptimizerFile>(path);
  if (optimizer == nullptr) {
    file->check_kind("none");
    return [] {};
  }
  return with_optimizer_kind(*optimizer, [&]<typename Kind>(Kind) -> std::function<void()> {
    file->check_kind(Kind::kName);
    auto prepared = std::make_shared<Prepared<Kind>>();
    prepared->options = file->read_options<Kind>(*optimizer, module);
    for (const auto& [name, parameter] : parameters_of(*optimizer, module)) {
      if (auto state = file->read_state<Kind>(name, parameter)) {
        prepared->states[parameter.unsafeGetTensorImpl()] = std::move(state);
      }
    }
    file->check_all_read();
    return [prepared, optimizer] {
      for (std::size_t i = 0; i < prepared->options.size(); ++i) {
        static_cast<typename Kind::Options&>(optimizer->param_groups()[i].options()) = prepared->options[i];
      }
      std::swap(optimizer->state(), prepared->states);
    };
  });
}

}  // namespace samegrad::checkpoint
