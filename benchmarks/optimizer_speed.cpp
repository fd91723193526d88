// `optimizer_speed ELEMENTS`: samegrad's side of benchmarks/optimizer_speed.py. Each line on standard input is a
// command and how often it is done; the answer is one line, the least seconds of one:
//   adamw N, sgd N, momentum N   a step of all elements
//   whole N                      AdamW with all that a training does beside it: norm and hash of the gradient,
//   clipping,
//                                hash of the parameters
//   copy N                       a copy of one array (the bytes read and written are twice its size)
//   streams N                    the arrays of an AdamW step read and written, with one addition each: its limit
//   values FILE                  writes the parameters that the AdamW steps have made, after both; answers 0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "samegrad/train/optimizer.h"
#include "samegrad/train/whole_gradient.h"

namespace samegrad {
namespace {

constexpr double kRate = 1e-3;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[gnu::target_clones("default", "avx2", "avx512f")]] void add_streams(const float* __restrict gradient,
                                                                      float* __restrict a, float* __restrict b,
                                                                      float* __restrict c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    a[i] += gradient[i];
    b[i] += gradient[i];
    c[i] += gradient[i];
  }
}

/// The same numbers in benchmarks/optimizer_speed.py.
void fill(std::span<float> values, std::uint32_t factor, double scale) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto scattered = static_cast<std::uint32_t>(i + 1) * factor;
    values[i] = static_cast<float>((static_cast<double>(scattered) / 4294967296.0 - 0.5) * scale);
  }
}

OptimizerConfig config_of(const std::string& kind) {
  OptimizerConfig config;
  config.kind = kind == "adamw" ? "adamw" : "sgd";
  config.momentum = kind == "momentum" ? 0.9 : 0.0;
  config.weight_decay = 0.01;
  return config;
}

/// One set of parameters and its optimizer.
class Side {
 public:
  Side(const std::string& kind, std::int64_t elements)
      : layout_({{"flat", {elements}}}),
        values_(ElementType::kFloat32, elements),
        gradient_(ElementType::kFloat32, elements),
        optimizer_(make_optimizer(config_of(kind), elements)) {
    fill(values_.span(), 2654435761U, 1.0);
    fill(gradient_.span(), 2246822519U, 1e-2);
  }

  void step() {
    optimizer_->begin_step(kRate, 1.0);
    optimizer_->step_elements(0, values_.span(), gradient_.span());
  }

  void whole() {
    const NormAndHash gradient = norm_and_hash(layout_, gradient_.span());
    const double factor = clip_factor(gradient.norm, 0.5 * gradient.norm);
    hash_ = step_and_hash(*optimizer_, layout_, values_.span(), gradient_.span(), kRate, factor);
  }

  void copy() { std::memcpy(values_.span().data(), gradient_.span().data(), gradient_.span().size_bytes()); }

  void streams() {
    std::vector<Optimizer::StateBlock>& state = optimizer_->state();
    add_streams(gradient_.span().data(), state[0].values.span().data(), state[1].values.span().data(),
                values_.span().data(), values_.span().size());
  }

  std::span<const float> values() const { return values_.span(); }

 private:
  FlatLayout layout_;
  AlignedBlock values_;
  AlignedBlock gradient_;
  std::unique_ptr<Optimizer> optimizer_;
  std::string hash_;
};

void answer(std::int64_t elements) {
  std::map<std::string, Side> sides;  // made when first asked for
  const auto side = [&](const std::string& name, const std::string& kind) -> Side& {
    return sides.try_emplace(name, kind, elements).first->second;
  };
  std::string command;
  std::string argument;
  while (std::cin >> command >> argument) {
    if (command == "values") {
      const std::span<const float> values = side("adamw", "adamw").values();
      std::ofstream(argument, std::ios::binary)
          .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
      std::cout << 0 << std::endl;
      continue;
    }
    double least = 1e9;
    for (int i = std::stoi(argument); i > 0; --i) {
      least = std::min(least, seconds_of([&] {
                         if (command == "whole") return side("whole", "adamw").whole();
                         if (command == "copy") return side("limit", "adamw").copy();
                         if (command == "streams") return side("limit", "adamw").streams();
                         side(command, command).step();
                       }));
    }
    std::cout << least << std::endl;
  }
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  samegrad::answer(std::stoll(argv[1]));
  return 0;
}
