// What the output layer with the cross-entropy costs, forward and backward, in time and memory, one thread.
//
//   loss_speed [--rounds N] [--json FILE]
//
// Sides, in turn in each of N (15) rounds: `fused`, samegrad's operation; `torch`, at::linear and cross_entropy_loss,
// summed. Loss and gradients are compared before anything is timed. Times are processor times; ratios are of one
// round. The limit is the longer of: 6 operations a token, column of x and choice (3 products) at the core's fused
// multiply-adds a second; x read and its gradient written, once each, at the bandwidth of a copy; both measured in the
// same run. Memory is what the process holds at most beyond what it held before; its limit the gradients of x, weight
// and bias, which both sides return.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <malloc.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine_limits.h"
#include "samegrad/base/json.h"
#include "samegrad/model/head_sums.h"

namespace samegrad {
namespace {

constexpr double kLargestDifference = 1e-5;  // of a component of a gradient, as a share of the largest one

struct Case {
  std::string name;
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t choices;
};

const std::vector<Case> kCases = {
    {"lesson", 551, 128, 4}, {"text", 1368, 256, 256}, {"vocabulary of 32,000", 1024, 256, 32'000}};

class Head {
 public:
  explicit Head(const Case& of)
      : of_(of),
        x_(at::rand({of.tokens, of.width}).sub(0.5).requires_grad_()),
        head_{at::rand({of.choices, of.width}).sub(0.5).requires_grad_(),
              at::rand({of.choices}).sub(0.5).requires_grad_()} {
    batch_.offsets = {0, of.tokens};
    batch_.inputs.assign(static_cast<std::size_t>(of.tokens), 0);
    for (std::int64_t t = 0; t < of.tokens; ++t) {
      batch_.targets.push_back(t % 5 == 0 ? kIgnoreTarget : t * 7919 % of.choices);
    }
    targets_ = at::tensor(batch_.targets, at::kLong);
  }

  /// The loss, and the gradients of x, weight and bias.
  std::vector<at::Tensor> run(bool fused) const {
    const at::Tensor loss = fused ? head_sums(x_, head_, batch_, /*with_z=*/false).loss : torch_loss();
    std::vector<at::Tensor> all = torch::autograd::grad({loss}, {x_, head_.weight, head_.bias});
    all.insert(all.begin(), loss.detach());
    return all;
  }

  std::int64_t gradient_bytes() const { return 4 * (of_.tokens * of_.width + of_.choices * (of_.width + 1)); }

 private:
  at::Tensor torch_loss() const {
    return at::cross_entropy_loss(at::linear(x_, head_.weight, head_.bias), targets_, {}, at::Reduction::Sum,
                                  kIgnoreTarget);
  }

  Case of_;
  at::Tensor x_;
  LinearParameters head_;
  PackedBatch batch_;
  at::Tensor targets_;
};

/// The most by which the sides' losses or gradients differ, as a share of the largest component.
double largest_difference(const Head& head) {
  const std::vector<at::Tensor> ours = head.run(true);
  const std::vector<at::Tensor> theirs = head.run(false);
  double largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const at::Tensor expected = theirs[i].to(at::kDouble);
    const double difference = (ours[i].to(at::kDouble) - expected).abs().max().item<double>();
    largest = std::max(largest, difference / expected.abs().max().item<double>());
  }
  return largest;
}

double seconds_of(const Head& head, bool fused, int repeats) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < repeats; ++i) head.run(fused);
  return (now() - start) / repeats;
}

double status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == name + ":" && status >> kib) return 1024 * kib;
  }
  return 0;
}

double peak_bytes(const Head& head, bool fused) {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;  // the peak starts anew
  const double before = status_bytes("VmRSS");
  head.run(fused);
  return status_bytes("VmHWM") - before;
}

using Peaks = std::map<std::string, double>;

/// Of each case, by side. Nothing was timed before: what is freed is then given back at once, and not counted.
std::vector<Peaks> peaks_of_cases() {
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
  std::vector<Peaks> peaks;
  for (const Case& of : kCases) {
    const Head head(of);
    head.run(true);
    head.run(false);
    peaks.push_back({{"fused", peak_bytes(head, true)}, {"torch", peak_bytes(head, false)}});
  }
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // and kept where it is timed
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return peaks;
}

Json spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {{"median", values[values.size() / 2]}, {"min", values.front()}, {"max", values.back()}};
}

Json measure(const Case& of, const Peaks& peaks, int rounds) {
  const Head head(of);
  const double difference = largest_difference(head);
  if (difference > kLargestDifference) {
    std::fprintf(stderr, "[benchmark] %s: loss or gradients differ by %g of the largest\n", of.name.c_str(),
                 difference);
    std::exit(1);
  }
  const int repeats = std::max(1, static_cast<int>(5e-3 / seconds_of(head, true, 2)));
  std::map<std::string, std::vector<double>> seconds;
  std::vector<double> times;
  std::vector<double> shares;
  std::vector<double> limits;
  for (int round = 0; round < rounds; ++round) {
    const double operations = 6.0 * static_cast<double>(of.tokens * of.width * of.choices);
    const double moved = 4.0 * static_cast<double>(of.tokens * of.width);  // a copy counts a byte read and written once
    limits.push_back(std::max(operations / fma_flops_per_second(), moved / copy_bytes_per_second()));
    for (const bool fused : {true, false}) {
      seconds[fused ? "fused" : "torch"].push_back(seconds_of(head, fused, repeats));
    }
    times.push_back(seconds["torch"].back() / seconds["fused"].back());
    shares.push_back(limits.back() / seconds["fused"].back());
  }
  return {{"case", of.name},
          {"tokens", of.tokens},
          {"width", of.width},
          {"choices", of.choices},
          {"largest_difference", difference},
          {"limit_seconds", spread(limits)},
          {"seconds", {{"fused", spread(seconds["fused"])}, {"torch", spread(seconds["torch"])}}},
          {"torch_over_fused", spread(times)},
          {"share_of_limit", spread(shares)},
          {"peak_bytes", peaks},
          {"gradient_bytes", head.gradient_bytes()}};
}

void print(const Json& result) {
  const auto milliseconds = [&](const char* side) { return 1e3 * result["seconds"][side]["median"].get<double>(); };
  const auto mib = [](const Json& bytes) { return bytes.get<double>() / (1 << 20); };
  std::printf("%s (%ld tokens, width %ld, %ld choices; largest difference %.1e)\n",
              result["case"].get<std::string>().c_str(), result["tokens"].get<long>(), result["width"].get<long>(),
              result["choices"].get<long>(), result["largest_difference"].get<double>());
  std::printf("  fused %.3f ms, torch %.3f ms: %.2f x; %.0f %% of the limit\n", milliseconds("fused"),
              milliseconds("torch"), result["torch_over_fused"]["median"].get<double>(),
              100 * result["share_of_limit"]["median"].get<double>());
  std::printf("  memory: fused %.1f MiB, torch %.1f MiB, gradients alone %.1f MiB\n",
              mib(result["peak_bytes"]["fused"]), mib(result["peak_bytes"]["torch"]), mib(result["gradient_bytes"]));
}

int run(std::map<std::string, std::string> options) {
  const int rounds = std::max(1, std::atoi(options["--rounds"].c_str()));
  at::set_num_threads(1);
  at::manual_seed(1);
  Json all = {{"rounds", rounds}, {"cases", Json::array()}};
  const std::vector<Peaks> peaks = peaks_of_cases();
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    all["cases"].push_back(measure(kCases[i], peaks[i], rounds));
    print(all["cases"].back());
  }
  if (!options["--json"].empty()) std::ofstream(options["--json"]) << all.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--rounds", "15"}, {"--json", ""}};
  bool known = argc % 2 == 1;
  for (int i = 1; known && i < argc; i += 2) {
    known = options.contains(argv[i]);
    if (known) options[argv[i]] = argv[i + 1];
  }
  if (!known) {
    std::fprintf(stderr, "loss_speed [--rounds N] [--json FILE]\n");
    return 2;
  }
  return samegrad::run(options);
}
