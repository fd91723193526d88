// What each optimizer of torch::optim keeps: its options, and its state of a parameter, member by member.
#pragma once

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <string>
#include <typeinfo>

#include "samegrad/base/error.h"

namespace samegrad::checkpoint {

/// Whether a state has its member from the first step on, or only under some options.
enum class Presence { kAlways, kSometimes };

// Each kind: options(options, visit) calls visit(name, value) for each option, and state(state, visit) calls
// visit(name, value, presence) for each member of a parameter's state. Names are those of torch.optim in Python.

struct SgdKind {
  static constexpr const char* kName = "SGD";
  using Optimizer = torch::optim::SGD;
  using Options = torch::optim::SGDOptions;
  using State = torch::optim::SGDParamState;
  static void options(Options& from, const auto& visit) {
    visit("lr", from.lr());
    visit("momentum", from.momentum());
    visit("dampening", from.dampening());
    visit("weight_decay", from.weight_decay());
    visit("nesterov", from.nesterov());
  }
  static void state(State& from, const auto& visit) {
    visit("momentum_buffer", from.momentum_buffer(), Presence::kSometimes);
  }
};

/// Adam and AdamW have the same members.
template <typename OptimizerType, typename OptionsType, typename StateType>
struct AdamMembers {
  using Optimizer = OptimizerType;
  using Options = OptionsType;
  using State = StateType;
  static void options(Options& from, const auto& visit) {
    visit("lr", from.lr());
    visit("betas", from.betas());
    visit("eps", from.eps());
    visit("weight_decay", from.weight_decay());
    visit("amsgrad", from.amsgrad());
  }
  static void state(State& from, const auto& visit) {
    visit("step", from.step(), Presence::kAlways);
    visit("exp_avg", from.exp_avg(), Presence::kAlways);
    visit("exp_avg_sq", from.exp_avg_sq(), Presence::kAlways);
    visit("max_exp_avg_sq", from.max_exp_avg_sq(), Presence::kSometimes);
  }
};

struct AdamKind : AdamMembers<torch::optim::Adam, torch::optim::AdamOptions, torch::optim::AdamParamState> {
  static constexpr const char* kName = "Adam";
};

struct AdamWKind : AdamMembers<torch::optim::AdamW, torch::optim::AdamWOptions, torch::optim::AdamWParamState> {
  static constexpr const char* kName = "AdamW";
};

struct RmspropKind {
  static constexpr const char* kName = "RMSprop";
  using Optimizer = torch::optim::RMSprop;
  using Options = torch::optim::RMSpropOptions;
  using State = torch::optim::RMSpropParamState;
  static void options(Options& from, const auto& visit) {
    visit("lr", from.lr());
    visit("alpha", from.alpha());
    visit("eps", from.eps());
    visit("weight_decay", from.weight_decay());
    visit("momentum", from.momentum());
    visit("centered", from.centered());
  }
  static void state(State& from, const auto& visit) {
    visit("step", from.step(), Presence::kAlways);
    visit("square_avg", from.square_avg(), Presence::kAlways);
    visit("momentum_buffer", from.momentum_buffer(), Presence::kSometimes);
    visit("grad_avg", from.grad_avg(), Presence::kSometimes);
  }
};

struct AdagradKind {
  static constexpr const char* kName = "Adagrad";
  using Optimizer = torch::optim::Adagrad;
  using Options = torch::optim::AdagradOptions;
  using State = torch::optim::AdagradParamState;
  static void options(Options& from, const auto& visit) {
    visit("lr", from.lr());
    visit("lr_decay", from.lr_decay());
    visit("weight_decay", from.weight_decay());
    visit("initial_accumulator_value", from.initial_accumulator_value());
    visit("eps", from.eps());
  }
  static void state(State& from, const auto& visit) {
    visit("sum", from.sum(), Presence::kAlways);
    visit("step", from.step(), Presence::kAlways);
  }
};

/// visit(Kind()) of the optimizer's kind. Throws InputError naming the optimizer where it is none of these, also where
/// it is derived from one and so may keep more. Local.
template <typename Visit>
auto with_optimizer_kind(const torch::optim::Optimizer& optimizer, const Visit& visit) {
  const std::type_info& type = typeid(optimizer);
  if (type == typeid(torch::optim::SGD)) return visit(SgdKind());
  if (type == typeid(torch::optim::Adam)) return visit(AdamKind());
  if (type == typeid(torch::optim::AdamW)) return visit(AdamWKind());
  if (type == typeid(torch::optim::RMSprop)) return visit(RmspropKind());
  if (type == typeid(torch::optim::Adagrad)) return visit(AdagradKind());
  if (type == typeid(torch::optim::LBFGS)) {
    throw InputError("checkpoint",
                     "optimizer: LBFGS is not saved: its history is one list for all parameters together, which no "
                     "parameter's name finds again; use SGD, Adam, AdamW, RMSprop or Adagrad");
  }
  throw InputError("checkpoint", std::string("optimizer: ") + type.name() +
                                     " is a kind of its own, whose state is not known here; SGD, Adam, AdamW, RMSprop "
                                     "and Adagrad of torch::optim are saved: put the state of others into `tensors`");
}

}  // namespace samegrad::checkpoint
