// How long self-attention takes forward and backward, from the in-projection's rows to their gradient, one thread.
//
//   attention_speed [--json FILE] [--rounds N] [--dropout P]
//
// Sides, in turn in each of N (21) rounds: `packed`, samegrad's operation; `loop`, PyTorch's
// scaled_dot_product_attention sample by sample; `padded`, the same on all samples padded to the longest (full
// attention with a mask of the padding, causal without one: padding comes last). Dropout (0) is on the weights: keyed
// in `packed`, PyTorch's own in the others. Results and gradients without dropout are compared before anything is
// timed. Times are medians over the rounds (least in brackets), ratios the medians of each round's. The limit: 14 x
// head width operations (7 products) for each pair of a row and a key that it sees, at the core's fused multiply-adds a
// second, measured in the same run.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine_limits.h"
#include "samegrad/base/json.h"
#include "samegrad/model/attention.h"

namespace samegrad {
namespace {

struct Case {
  std::string name;
  std::vector<std::int64_t> lengths;
  AttentionShape shape;
  std::int64_t width;
};

const std::vector<Case> kCases = {
    {"lesson, short", {16, 23, 30, 38, 44, 51, 58, 64}, {4, false}, 128},
    {"lesson, long", {66, 75, 84, 92, 101, 110, 119, 128}, {4, false}, 128},
    {"text", {256, 256, 256, 256, 256, 180, 97, 31}, {4, true}, 256},
    {"text, heads of 32", {256, 256, 256, 256, 256, 180, 97, 31}, {8, true}, 256},
    {"one of 2048", {2048}, {4, true}, 256},
};

using Attention = std::function<at::Tensor(const at::Tensor& qkv)>;

struct Side {
  std::string name;
  Attention attention;
  at::Tensor qkv;       ///< a leaf
  at::Tensor upstream;  ///< the result's gradient
  std::vector<double> seconds{};
};

/// q, k and v [batch, heads, length, head width] of rows [batch, length, 3 x width], and back.
at::Tensor attend(const at::Tensor& rows, AttentionShape shape, const std::optional<at::Tensor>& mask, double dropout) {
  const std::int64_t head_width = rows.size(2) / (3 * shape.heads);
  const std::vector<at::Tensor> parts =
      rows.view({rows.size(0), rows.size(1), 3, shape.heads, head_width}).permute({2, 0, 3, 1, 4}).unbind(0);
  return at::scaled_dot_product_attention(parts[0], parts[1], parts[2], mask, dropout, shape.causal)
      .transpose(1, 2)
      .reshape({rows.size(0), rows.size(1), rows.size(2) / 3});
}

/// Packed rows as [samples, longest, columns], zeros after each sample's end.
at::Tensor padded(const at::Tensor& rows, const Case& of) {
  const auto samples = static_cast<std::int64_t>(of.lengths.size());
  at::Tensor result = at::zeros({samples, *std::ranges::max_element(of.lengths), rows.size(1)});
  std::int64_t first = 0;
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t length = of.lengths[static_cast<std::size_t>(s)];
    result.select(0, s).narrow(0, 0, length).copy_(rows.narrow(0, first, length));
    first += length;
  }
  return result;
}

std::vector<Side> sides_of(const Case& of, double dropout) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : of.lengths) offsets.push_back(offsets.back() + length);
  const at::Tensor qkv = at::randn({offsets.back(), 3 * of.width});
  const at::Tensor upstream = at::randn({offsets.back(), of.width});
  const at::Tensor lengths = at::tensor(of.lengths).unsqueeze(1);
  const std::int64_t longest = *std::ranges::max_element(of.lengths);
  const at::Tensor present = (at::arange(longest).unsqueeze(0) < lengths).unsqueeze(1).unsqueeze(1);
  const std::optional<at::Tensor> mask =
      of.shape.causal || of.lengths.size() == 1 ? std::nullopt : std::optional(present);
  const Dropout keyed(dropout, DropoutKey{.seed = 1});
  return {
      {"packed", [=, shape = of.shape](const at::Tensor& x) { return packed_attention(x, offsets, shape, keyed, 0); },
       qkv.clone().requires_grad_(), upstream},
      {"loop",
       [=, shape = of.shape, sizes = of.lengths](const at::Tensor& x) {
         std::vector<at::Tensor> rows;
         for (const at::Tensor& sample : x.split_with_sizes(sizes, 0)) {
           rows.push_back(attend(sample.unsqueeze(0), shape, std::nullopt, dropout).squeeze(0));
         }
         return at::cat(rows, 0);
       },
       qkv.clone().requires_grad_(), upstream},
      {"padded", [=, shape = of.shape](const at::Tensor& x) { return attend(x, shape, mask, dropout); },
       padded(qkv, of).requires_grad_(), padded(upstream, of)}};
}

void run_once(Side& side) {
  side.qkv.mutable_grad() = at::Tensor();
  side.attention(side.qkv).backward(side.upstream);
}

/// The most by which a side's gradient, or its result, differs from the first one's.
double largest_difference(const Case& of) {
  std::vector<Side> sides = sides_of(of, 0.0);
  const std::int64_t tokens = sides[0].qkv.size(0);
  double largest = 0;
  at::Tensor expected_result;
  at::Tensor expected_gradient;
  for (Side& side : sides) {
    run_once(side);
    const at::NoGradGuard none;
    at::Tensor result = side.attention(side.qkv);
    at::Tensor gradient = side.qkv.grad();
    if (side.name == "padded") {
      result = result * padded(at::ones({tokens, of.width}), of);  // what padding gives is nobody's
    } else {
      result = padded(result, of);
      gradient = padded(gradient, of);
    }
    if (side.name == "packed") {
      expected_result = result;
      expected_gradient = gradient;
    }
    largest = std::max({largest, (result - expected_result).abs().max().item<double>(),
                        (gradient - expected_gradient).abs().max().item<double>()});
  }
  return largest;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(Side& side, int repeats) {
  const double start = cpu_seconds();
  for (int i = 0; i < repeats; ++i) run_once(side);
  return (cpu_seconds() - start) / repeats;
}

double operations(const Case& of) {
  double pairs = 0;
  for (const std::int64_t length : of.lengths) {
    const auto n = static_cast<double>(length);
    pairs += of.shape.causal ? n * (n + 1) / 2 : n * n;
  }
  return 14.0 * pairs * static_cast<double>(of.width);
}

Json spread(const std::vector<double>& values) {
  return {{"median", median(values)},
          {"min", *std::ranges::min_element(values)},
          {"max", *std::ranges::max_element(values)}};
}

Json measure(const Case& of, int rounds, double dropout, double flops) {
  const double difference = largest_difference(of);
  std::vector<Side> sides = sides_of(of, dropout);
  const int repeats = std::max(1, static_cast<int>(2e-3 / seconds_of(sides[0], 3)));
  for (int round = 0; round < rounds; ++round) {
    for (Side& side : sides) side.seconds.push_back(seconds_of(side, repeats));
  }
  const double limit = operations(of) / flops;
  Json result = {{"case", of.name}, {"largest_difference", difference}, {"limit_s", limit}, {"sides", Json::object()}};
  for (const Side& side : sides) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < side.seconds.size(); ++i) ratios.push_back(side.seconds[i] / sides[0].seconds[i]);
    result["sides"][side.name] = {{"median_s", median(side.seconds)},
                                  {"least_s", *std::ranges::min_element(side.seconds)},
                                  {"times_packed", spread(ratios)},
                                  {"share_of_limit", limit / median(side.seconds)}};
  }
  return result;
}

void print(const Json& result) {
  std::printf("%s (largest difference %.1e, limit %.0f us)\n", result["case"].get<std::string>().c_str(),
              result["largest_difference"].get<double>(), 1e6 * result["limit_s"].get<double>());
  for (const auto& [name, side] : result["sides"].items()) {
    std::printf("  %-7s %8.0f us (%.0f)  %5.2f x  %3.0f %% of the limit\n", name.c_str(),
                1e6 * side["median_s"].get<double>(), 1e6 * side["least_s"].get<double>(),
                side["times_packed"]["median"].get<double>(), 100 * side["share_of_limit"].get<double>());
  }
}

int run(const std::vector<std::string_view>& arguments) {
  std::string file;
  int rounds = 21;
  double dropout = 0.0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--json" && i + 1 < arguments.size()) {
      file = arguments[++i];
    } else if (arguments[i] == "--rounds" && i + 1 < arguments.size()) {
      rounds = std::max(1, std::atoi(arguments[++i].data()));
    } else if (arguments[i] == "--dropout" && i + 1 < arguments.size()) {
      dropout = std::atof(arguments[++i].data());
    } else {
      std::fprintf(stderr, "attention_speed [--json FILE] [--rounds N] [--dropout P]\n");
      return 2;
    }
  }
  at::set_num_threads(1);
  at::manual_seed(1);
  const double flops = fma_flops_per_second();
  Json all = {{"fma_flops_per_second", flops}, {"rounds", rounds}, {"dropout", dropout}, {"cases", Json::array()}};
  for (const Case& of : kCases) {
    all["cases"].push_back(measure(of, rounds, dropout, flops));
    print(all["cases"].back());
  }
  if (!file.empty()) std::ofstream(file) << all.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) { return samegrad::run({argv + 1, argv + argc}); }
