// `exactness_cost BACKEND RANKS ATOMS ITERATIONS FILE METRICS`: what the fixed order of additions and the hashes of one
// update cost, on RANKS processes that talk by BACKEND (shm, gloo), for the gradient of the lesson's model. Rank 0
// writes FILE: JSON, seconds of the slowest rank by iteration. benchmarks/exactness_cost.py runs it and sets it beside
// an update.
//
// metrics: a line like the last one of METRICS, a run's metrics.jsonl, added to a file by rank 0.
// agreements: the small calls of an update (agreement, failures, loss sums, learning rate, shares), nobody late.
// canonical: each atom's gradient in a buffer of its own, siblings added, the subtrees exchanged.
// native: atoms added up in place, one sum a rank exchanged, added in rank order: what an all-reduce does.
// Both end with the division. Every buffer is rewritten before each iteration.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/agreement.h"
#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/environment.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/join.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/ddp/atom_gather.h"
#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/launch/launch.h"
#include "samegrad/objective/scale.h"
#include "samegrad/report/metrics.h"
#include "samegrad/train/hash_chain.h"
#include "samegrad/train/train_state.h"
#include "samegrad/train/whole_gradient.h"

namespace samegrad {
namespace {

constexpr double kUnits = 2'204.0;  // of a window of the lesson

using Clock = std::chrono::steady_clock;

CallLabel label(std::string_view name) { return {name, 1, std::chrono::minutes(5)}; }

/// Seconds of the slowest rank.
template <typename Work>
double slowest_seconds(Communicator& comm, const Work& work) {
  comm.barrier(label("start"));
  const Clock::time_point start = Clock::now();
  work();
  const double mine = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), label("seconds"));
  return *std::ranges::max_element(all);
}

void rewrite(std::span<float> values, std::int64_t atom, std::int64_t iteration) {
  const auto seed = static_cast<float>(1 + atom * 7 + iteration % 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = seed / static_cast<float>(1 + (i * 31) % 1009);
}

class Costs {
 public:
  Costs(Communicator& comm, std::int64_t atoms)
      : comm_(comm),
        atoms_(atoms),
        ranges_(rank_ranges(atoms, comm.size())),
        mine_(ranges_[static_cast<std::size_t>(comm.rank())]),
        state_(initial_state(RunConfig{})),
        pool_(state_.parameters.set()) {
    pool_.place_in(gradient_memory_of(comm));
  }

  double canonical(std::int64_t iteration) {
    std::vector<std::unique_ptr<GradientBuffer>> gradients;
    const double zeroing = slowest_seconds(comm_, [&] {
      for (std::int64_t atom = mine_.begin; atom < mine_.end; ++atom) gradients.push_back(pool_.take_zeroed());
    });
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      rewrite(gradients[i]->values(), mine_.begin + static_cast<std::int64_t>(i), iteration);
    }
    SubtreeStack stack(atoms_, pool_);
    std::unique_ptr<GradientBuffer> result;
    const double seconds = slowest_seconds(comm_, [&] {
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        stack.push(mine_.begin + static_cast<std::int64_t>(i), std::move(gradients[i]));
      }
      std::vector<SubtreeGradient<float>> subtrees;
      for (const SubtreeStack::Node& node : stack.nodes()) {
        subtrees.push_back({node.atoms, node.sum->values().data()});
      }
      result = stack.take_buffer();
      if (!result) result = pool_.take_zeroed();
      volume_ = reduce_canonically(comm_, ranges_, subtrees, result->values(), kUnits, label("canonical"));
    });
    canonical_.assign(result->values().begin(), result->values().end());
    pool_.give_back(std::move(result));
    return zeroing + seconds;
  }

  double native(std::int64_t iteration) {
    const std::size_t elements = state_.parameters.values().size();
    std::vector<std::vector<float>> gradients(static_cast<std::size_t>(mine_.size()), std::vector<float>(elements));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      rewrite(gradients[i], mine_.begin + static_cast<std::int64_t>(i), iteration);
    }
    sum_.resize(elements);
    return slowest_seconds(comm_, [&] {
      std::ranges::fill(sum_, 0.0F);
      for (const std::vector<float>& gradient : gradients) {
        for (std::size_t i = 0; i < elements; ++i) sum_[i] += gradient[i];
      }
      all_reduce(sum_);
      divide_gradient(sum_.data(), static_cast<std::int64_t>(elements), kUnits);
    });
  }

  /// Of the parameters, of the gradient, of the plan's window, and the chain.
  double hashes() {
    const FlatLayout& layout = state_.parameters.layout();
    rewrite(state_.parameters.values(), 0, 0);
    return slowest_seconds(comm_, [&] {
      const std::string gradient = elements_hash(layout, canonical_);
      const std::string parameters = elements_hash(layout, state_.parameters.values());
      const PlanWindow window{.update = state_.histories[0].update + 1, .epoch = 0, .atoms = window_atoms()};
      for (SamplerHistory& history : state_.histories) append_window(history, window, 2);
      state_.hash_chain = next_link(state_.hash_chain, state_.histories, gradient, parameters);
    });
  }

  /// The small collective calls of an update, as a window and a training make them, without what they wait for.
  double agreements() {
    return slowest_seconds(comm_, [&] {
      note_phase(comm_, "agreement", 1);
      exchange_records(comm_, AgreementRecord{}, std::chrono::minutes(5));
      note_phase(comm_, "backward", 1);
      note_phase(comm_, "exchange", 1);
      agree_no_failure(comm_, "", 1, label("window"));
      gather_atoms(comm_, ranges_, {std::vector<double>(static_cast<std::size_t>(mine_.size()))},
                   std::vector<bool>(state_.parameters.set().parameters().size()), label("loss sums"));
      note_phase(comm_, "step", 1);
      double rate = 0.0;
      comm_.broadcast(std::as_writable_bytes(std::span(&rate, 1)), 0, label("learning rate"));
      std::array<double, 8> share{};
      std::vector<std::array<double, 8>> shares(ranges_.size());
      comm_.all_gather(std::as_bytes(std::span(share)), std::as_writable_bytes(std::span(shares)),
                       label("rank shares"));
    });
  }

  double metrics(MetricsLog* log, const Json& line) {
    return slowest_seconds(comm_, [&] {
      if (log != nullptr) log->append(Json(line));
      agree_no_failure(comm_, "", 1, label("metrics"));
    });
  }

  /// A copy of as many bytes as the gradient has, by all ranks at once.
  double copy() {
    rewrite(sum_, 1, 1);
    return slowest_seconds(comm_, [&] { std::memcpy(canonical_.data(), sum_.data(), sum_.size() * sizeof(float)); });
  }

  /// Largest difference between the last results of both ways, relative to the largest component.
  double difference() const {
    double most = 0.0;
    double scale = 0.0;
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(sum_[i]) - static_cast<double>(canonical_[i])));
      scale = std::max(scale, std::abs(static_cast<double>(sum_[i])));
    }
    return most / scale;
  }

  std::int64_t gradient_bytes() const { return static_cast<std::int64_t>(sum_.size() * sizeof(float)); }
  std::int64_t bytes_sent() const { return volume_.bytes_sent; }

 private:
  /// Scatter, sum in rank order, gather: in the pieces in which reduce_canonically goes too.
  void all_reduce(std::span<float> values) {
    const auto ranks = static_cast<std::size_t>(comm_.size());
    const std::size_t fitting = static_cast<std::size_t>(comm_.piece_bytes()) / sizeof(float) / ranks;
    const std::size_t piece = std::min(fitting, (values.size() + ranks - 1) / ranks);
    std::vector<float> send(piece * ranks);
    std::vector<float> received(piece * ranks);
    for (std::size_t begin = 0; begin < values.size(); begin += piece * ranks) {
      const std::size_t count = std::min(piece * ranks, values.size() - begin);
      std::ranges::copy(values.subspan(begin, count), send.begin());
      comm_.all_to_all(std::as_bytes(std::span(send)), std::as_writable_bytes(std::span(received)), label("native"));
      for (std::size_t rank = 1; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < piece; ++i) received[i] += received[rank * piece + i];
      }
      comm_.all_gather(std::as_bytes(std::span(received).first(piece)), std::as_writable_bytes(std::span(send)),
                       label("native"));
      std::copy_n(send.begin(), count, values.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }

  std::vector<Atom> window_atoms() const { return std::vector<Atom>(4, Atom(8, 512)); }

  Communicator& comm_;
  std::int64_t atoms_;
  std::vector<AtomRange> ranges_;
  AtomRange mine_;
  TrainState state_;
  GradientBufferPool pool_;
  std::vector<float> canonical_;
  std::vector<float> sum_;
  ExchangeVolume volume_;
};

void measure(Communicator& comm, std::int64_t atoms, std::int64_t iterations, const std::string& path,
             const std::string& run_metrics) {
  Costs costs(comm, atoms);
  Json line = read_metrics(run_metrics).back();
  line.erase("run_id");
  line.erase("kind");
  std::optional<MetricsLog> log;
  if (comm.rank() == 0) log.emplace(path + ".metrics", "a run's id of this length", "training", 0);
  Json seconds;
  double difference = 0.0;
  constexpr std::int64_t kWarmUp = 3;
  for (std::int64_t i = 0; i < kWarmUp + iterations; ++i) {
    const double canonical = costs.canonical(i);
    const double native = costs.native(i);
    difference = std::max(difference, costs.difference());
    const double hashes = costs.hashes();
    const double agreements = costs.agreements();
    const double metrics = costs.metrics(log ? &*log : nullptr, line);
    const double copy = costs.copy();
    if (i < kWarmUp) continue;
    seconds["canonical"].push_back(canonical);
    seconds["native"].push_back(native);
    seconds["hashes"].push_back(hashes);
    seconds["agreements"].push_back(agreements);
    seconds["metrics"].push_back(metrics);
    seconds["copy"].push_back(copy);
  }
  if (comm.rank() != 0) return;
  std::ofstream(path) << Json{{"backend", comm.backend()},
                              {"ranks", comm.size()},
                              {"atoms", atoms},
                              {"gradient_bytes", costs.gradient_bytes()},
                              {"canonical_bytes_sent", costs.bytes_sent()},
                              {"difference", difference},
                              {"seconds", seconds}}
                             .dump()
                      << "\n";
}

int launch(const std::string& backend, int ranks, std::vector<std::string> arguments) {
  LaunchOptions options;
  options.program = "/proc/self/exe";
  options.arguments = std::move(arguments);
  options.environment = pinned_environment(RunSection{});
  options.processes = ranks;
  options.share_memory = backend == "shm";
  const LaunchResult result = launch_workers(options);
  for (const std::string& line : result.lines) std::cerr << line << "\n";
  return result.exit_code;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const std::string backend = argv[1];
  if (!samegrad::process_environment(samegrad::kRankVariable)) {
    return samegrad::launch(backend, std::stoi(argv[2]), {argv + 1, argv + argc});
  }
  const samegrad::JoinedRanks joined =
      samegrad::join_ranks(samegrad::read_worker_environment(), backend, std::chrono::minutes(1));
  samegrad::measure(*joined.communicator, std::stol(argv[3]), std::stol(argv[4]), argv[5], argv[6]);
  return 0;
}
