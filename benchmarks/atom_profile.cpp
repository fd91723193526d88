// atom_profile [--kind encoder|decoder] [--width N] [--vocabulary N] [--dropout P] [--rounds N] [--json FILE]: what one
// atom of 8 samples costs one core, forward and backward, beside its matrix products alone; and what each of its fused
// operations takes beside the same in ATen's own. Each figure is the least CPU time of many short repetitions, so that
// other work on the machine disturbs it little. Both sides take turns; a ratio is of one turn.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <time.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/base/philox.h"
#include "samegrad/data/packed_batch.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/model/embedding.h"
#include "samegrad/model/feed_forward.h"
#include "samegrad/model/head_sums.h"
#include "samegrad/model/linear.h"
#include "samegrad/model/model.h"
#include "samegrad/model/norm.h"
#include "samegrad/train/atom_gradient.h"
#include "samegrad/train/train_state.h"

namespace samegrad {
namespace {

constexpr int kTurns = 7;

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double least_milliseconds(int rounds, const std::function<void()>& work) {
  double least = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = cpu_milliseconds();
    work();
    least = std::min(least, cpu_milliseconds() - start);
  }
  return least;
}

/// Lengths as in the lesson's windows: 8 samples, 551 tokens.
PackedBatch lesson_atom(const ModelConfig& config) {
  const std::int64_t choices = config.kind == "decoder" ? config.vocabulary : config.classes;
  std::vector<Sample> samples;
  for (const std::int64_t length : {128, 113, 97, 81, 55, 40, 25, 12}) {
    Sample sample;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto bits = philox4x32({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(length), 0, 0}, {1, 2});
      sample.inputs.push_back(static_cast<std::int32_t>(bits[0] % static_cast<std::uint32_t>(config.vocabulary)));
      sample.targets.push_back(static_cast<std::int32_t>(bits[1] % static_cast<std::uint32_t>(choices)));
    }
    samples.push_back(std::move(sample));
  }
  return pack(samples);
}

/// Every linear layer's three products of one atom, and no other work.
double product_milliseconds(const ModelConfig& config, std::int64_t tokens, int rounds) {
  const std::int64_t width = config.width;
  const std::int64_t choices = config.kind == "decoder" ? config.vocabulary : config.classes;
  const auto triple = [&](std::int64_t in, std::int64_t out) {
    const at::Tensor x = at::rand({tokens, in});
    const at::Tensor weight = at::rand({out, in});
    const at::Tensor gradient = at::rand({tokens, out});
    return least_milliseconds(rounds, [&] {
      product(x, weight.t());
      product(gradient.t(), x);
      product(gradient, weight);
    });
  };
  const double layer = triple(width, 3 * width) + triple(width, width) + triple(width, config.feed_forward) +
                       triple(config.feed_forward, width);
  return static_cast<double>(config.layers) * layer + triple(width, choices);
}

/// One operation's fused and plain form over the same leaves, and how often an atom has it.
struct Pair {
  std::string name;
  std::int64_t times;
  std::vector<at::Tensor> leaves;
  std::function<at::Tensor()> fused;
  std::function<at::Tensor()> plain;
};

std::vector<Pair> pairs(const ModelConfig& config, const PackedBatch& batch) {
  const std::int64_t width = config.width;
  const std::int64_t inner = config.feed_forward;
  const std::int64_t choices = config.kind == "decoder" ? config.vocabulary : config.classes;
  const std::int64_t layers = config.layers;
  const auto leaf = [](at::IntArrayRef shape) { return at::rand(shape).sub(0.5).requires_grad_(); };
  const at::Tensor x = leaf({batch.tokens(), width});
  const at::Tensor y = leaf({batch.tokens(), width});
  const LayerParameters layer{{leaf({3 * width, width}), leaf({3 * width})},
                              {leaf({width, width}), leaf({width})},
                              {leaf({inner, width}), leaf({inner})},
                              {leaf({width, inner}), leaf({width})},
                              {leaf({width}), leaf({width})},
                              {leaf({width}), leaf({width})}};
  const LinearParameters head{leaf({choices, width}), leaf({choices})};
  const at::Tensor token = leaf({config.vocabulary, width});
  const at::Tensor position = leaf({config.positions, width});
  const at::Tensor ids = at::tensor(batch.inputs, at::kLong);
  const at::Tensor targets = at::tensor(batch.targets, at::kLong);
  const at::Tensor places = at::remainder(at::arange(batch.tokens()), config.positions);
  const Dropout none(0.0, std::nullopt);
  const auto plain = [](const at::Tensor& in, const LinearParameters& of) {
    return at::linear(in, of.weight, of.bias);
  };
  return {{"projection in",
           layers,
           {x, layer.in_projection.weight, layer.in_projection.bias},
           [=] { return linear(x, layer.in_projection); },
           [=] { return plain(x, layer.in_projection); }},
          {"projection out",
           layers,
           {x, layer.out_projection.weight, layer.out_projection.bias},
           [=] { return linear(x, layer.out_projection); },
           [=] { return plain(x, layer.out_projection); }},
          {"feed-forward",
           layers,
           {x, layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias},
           [=] { return feed_forward(x, layer, none, 0); },
           [=] { return plain(at::gelu(plain(x, layer.linear1)), layer.linear2); }},
          {"residual and norm",
           2 * layers,
           {x, y, layer.norm1.weight, layer.norm1.bias},
           [=] { return normalise_sum(x, y, layer.norm1); },
           [=] { return at::layer_norm(x + y, {width}, layer.norm1.weight, layer.norm1.bias, 1e-5); }},
          {"head and loss",
           1,
           {x, head.weight, head.bias},
           [=] { return head_sums(x, head, batch, false).loss; },
           [=] {
             return at::sum(at::cross_entropy_loss(plain(x, head), targets, {}, at::Reduction::None, kIgnoreTarget),
                            at::kDouble);
           }},
          {"embedding",
           1,
           {token, position},
           [=] { return embed(batch, token, position); },
           [=] { return at::embedding(token, ids) + at::embedding(position, places); }}};
}

double forward_and_backward(const Pair& pair, const std::function<at::Tensor()>& operation, int rounds) {
  const at::Tensor gradient = at::ones_like(operation());
  return least_milliseconds(rounds, [&] { torch::autograd::grad({operation()}, pair.leaves, {gradient}); });
}

Json compare(const ModelConfig& config, const PackedBatch& batch, int rounds) {
  Json rows = Json::array();
  std::printf("%-20s %6s %10s %10s\n", "operation", "times", "fused ms", "plain ms");
  for (const Pair& pair : pairs(config, batch)) {
    double fused = 1e30;
    double plain = 1e30;
    std::vector<double> times;
    for (int turn = 0; turn < kTurns; ++turn) {
      const double ours = forward_and_backward(pair, pair.fused, std::max(1, rounds / kTurns));
      const double theirs = forward_and_backward(pair, pair.plain, std::max(1, rounds / kTurns));
      fused = std::min(fused, ours);
      plain = std::min(plain, theirs);
      times.push_back(theirs / ours);
    }
    std::ranges::sort(times);
    std::printf("%-20s %6ld %10.4f %10.4f\n", pair.name.c_str(), pair.times, fused, plain);
    rows.push_back({{"operation", pair.name},
                    {"times", pair.times},
                    {"fused_ms", fused},
                    {"plain_ms", plain},
                    {"times_fused", {{"median", times[kTurns / 2]}, {"min", times.front()}, {"max", times.back()}}}});
  }
  return rows;
}

int profile(const std::map<std::string, std::string>& options) {
  const auto option = [&](const char* name, const char* otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? std::string(otherwise) : found->second;
  };
  RunConfig config;
  config.model.kind = option("--kind", "encoder");
  config.model.width = std::stol(option("--width", "128"));
  config.model.feed_forward = (config.model.kind == "decoder" ? 4 : 2) * config.model.width;
  config.model.vocabulary = std::stol(option("--vocabulary", config.model.kind == "decoder" ? "256" : "6"));
  config.model.dropout = std::stod(option("--dropout", "0"));
  const int rounds = std::stoi(option("--rounds", "200"));

  const TrainState state = initial_state(config);
  GradientBufferPool pool(state.parameters.set());
  const std::unique_ptr<GradientBuffer> gradient = pool.take_zeroed();
  const std::unique_ptr<Model> model = make_model(config.model, state.parameters.tensors());
  const PackedBatch batch = lesson_atom(config.model);
  const DropoutKey key{.seed = 1, .update = 1, .atom = 0};
  const double forward = least_milliseconds(rounds, [&] { model->loss_sum(batch, key); });
  const double both = least_milliseconds(rounds, [&] {
    atom_gradient(
        state.parameters, [&] { return model->loss_sum(batch, key); }, *gradient);
  });
  const double products = product_milliseconds(config.model, batch.tokens(), rounds);
  std::printf(
      "%s, width %ld, %ld tokens: forward %.3f ms, forward and backward %.3f ms, linear products alone %.3f ms "
      "(%.0f %%)\n",
      config.model.kind.c_str(), config.model.width, batch.tokens(), forward, both, products, 100.0 * products / both);
  const Json operations = compare(config.model, batch, rounds);
  if (const std::string path = option("--json", ""); !path.empty()) {
    std::ofstream(path) << Json{{"kind", config.model.kind}, {"width", config.model.width}, {"rounds", kTurns},
                                {"tokens", batch.tokens()},  {"forward_ms", forward},       {"both_ms", both},
                                {"products_ms", products},   {"operations", operations}}
                               .dump()
                        << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  if (argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: atom_profile [--kind encoder|decoder] [--width N] [--vocabulary N] [--dropout P] "
                 "[--rounds N] [--json FILE]\n");
    return 2;
  }
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  at::set_num_threads(1);  // else a second thread does half of ATen's products, and this one's time is half of theirs
  return samegrad::profile(options);
}
