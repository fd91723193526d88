#include "tests/unit/checkpoint/module_net.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "samegrad/checkpoint/optimizer_state.h"

namespace samegrad::testing {
namespace {

template <typename OptimizerType, typename Options>
OptimizerCase make_case(const std::string& name, const Options& options) {
  return {
      .name = name, .make = [options](Net& net, double rate) -> std::unique_ptr<torch::optim::Optimizer> {
        Options first = options;
        first.lr(options.lr() * rate);
        Options second = first;
        second.lr(first.lr() / 3).weight_decay(0.02);
        std::vector<torch::optim::OptimizerParamGroup> groups;
        groups.emplace_back(std::vector<at::Tensor>{net.turned, net.token, net.half}, std::make_unique<Options>(first));
        groups.emplace_back(
            std::vector<at::Tensor>{net.wide, net.scale, net.norm->weight, net.named_parameters()["unused"]},
            std::make_unique<Options>(second));
        return std::make_unique<OptimizerType>(groups, first);
      }};
}

/// Adds the ranks' gradients in rank order.
void add_over_ranks(Communicator& comm, at::Tensor& gradient) {
  const at::Tensor mine = gradient.contiguous();
  std::vector<at::Tensor> all(static_cast<std::size_t>(comm.size()));
  std::string bytes(mine.nbytes() * all.size(), '\0');
  comm.all_gather({static_cast<const std::byte*>(mine.const_data_ptr()), mine.nbytes()},
                  std::as_writable_bytes(std::span(bytes)), {"gradient", 0});
  at::Tensor sum = at::zeros_like(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    sum += at::from_blob(bytes.data() + rank * mine.nbytes(), mine.sizes(), mine.options());
  }
  gradient.copy_(sum);
}

}  // namespace

Net::Net(std::uint64_t seed) : norm(3) {
  const at::Generator random = at::detail::createCPUGenerator(seed);
  token = register_parameter("token", at::randn({5, 4}, random));
  register_parameter("head", token);
  turned = register_parameter("turned", at::randn({4, 3}, random).t());
  wide = register_parameter("wide", at::randn({3}, random, at::kDouble));
  half = register_parameter("half", at::randn({3}, random).to(at::kBFloat16));
  scale = register_parameter("scale", at::randn({}, random));
  register_parameter("frozen", at::randn({2}, random), /*requires_grad=*/false);
  register_parameter("unused", at::randn({2}, random));
  register_module("norm", norm);
  const at::Tensor values = at::randint(0, 100, {2, 3}, random, at::kLong);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kByte, at::kChar, at::kShort,
                                    at::kInt, at::kLong, at::kBool}) {
    register_buffer(std::string("of_") + c10::toString(type), (type == at::kBool ? values % 2 : values).to(type));
  }
  register_buffer("empty", at::empty({0, 3}));
  register_buffer("turned_buffer", at::randn({2, 5}, random).t());
}

at::Tensor Net::loss(std::int64_t update, int rank) {
  const at::Generator random = at::detail::createCPUGenerator(static_cast<std::uint64_t>(100 * update + rank));
  const at::Tensor x = at::randn({6, 5}, random);
  const at::Tensor hidden = norm->forward(x.mm(token).mm(turned.t()) * scale);
  const at::Tensor out = hidden.to(at::kDouble) * wide + hidden * half.to(at::kFloat);
  return (out * out).sum() + (x.mm(named_parameters()["head"])).sin().sum();
}

std::vector<OptimizerCase> optimizer_cases() {
  using namespace torch::optim;
  return {make_case<SGD>("SGD", SGDOptions(0.01).momentum(0.9).nesterov(true)),
          make_case<Adam>("Adam", AdamOptions(0.01).amsgrad(true).betas({0.8, 0.95})),
          make_case<AdamW>("AdamW", AdamWOptions(0.01)),
          make_case<RMSprop>("RMSprop", RMSpropOptions(0.01).momentum(0.5).centered(true)),
          make_case<Adagrad>("Adagrad", AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.5))};
}

Trained::Trained(const OptimizerCase& optimizer_case, std::uint64_t seed, double rate)
    : net(std::make_shared<Net>(seed)), optimizer(optimizer_case.make(*net, rate)), scheduler(*optimizer, 3, 0.5) {}

void Trained::train(Communicator& comm, std::int64_t first, std::int64_t last) {
  for (std::int64_t update = first; update <= last; ++update) {
    optimizer->zero_grad();
    net->loss(update, comm.rank()).backward();
    for (const at::Tensor& parameter : net->parameters()) {
      if (parameter.grad().defined()) add_over_ranks(comm, parameter.mutable_grad());
    }
    optimizer->step();
    scheduler.step();
    for (const at::Tensor& buffer : net->norm->buffers()) {
      comm.broadcast({static_cast<std::byte*>(buffer.mutable_data_ptr()), buffer.nbytes()}, 0, {"buffer", update});
    }
  }
}

std::map<std::string, std::string> Trained::state() const {
  const checkpoint::ModuleTensors tensors = checkpoint::module_tensors(*net);
  const checkpoint::StoredOptimizer stored = checkpoint::stored_optimizer(optimizer.get(), tensors);
  std::vector<checkpoint::StoredTensor> all = stored.tensors;
  for (const auto& named : tensors.tensors) all.push_back(checkpoint::stored_tensor(named.name, named.tensor));
  std::map<std::string, std::string> state = checkpoint::digests_of(all);
  state["options"] = stored.options.dump();
  return state;
}

}  // namespace samegrad::testing
