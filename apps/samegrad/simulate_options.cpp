#include "apps/samegrad/simulate_options.h"

#include <CLI/CLI.hpp>
#include <string>

#include "apps/samegrad/command_options.h"

namespace samegrad {
namespace {

constexpr std::int64_t kMostAtoms = std::int64_t{1} << 20;  // as the config allows
constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

void add_whole(CLI::App& command, const std::string& option, std::int64_t most, std::int64_t& value,
               const std::string& description) {
  command
      .add_option_function<std::string>(
          option,
          [=, &value](const std::string& text) {
            value = parse_number<std::int64_t>(option, text, 1, most, "a whole number, 1 to " + std::to_string(most));
          },
          description)
      ->type_name("N");
}

void add_speed(CLI::App& command, const std::string& option, double& value, const std::string& description) {
  command
      .add_option_function<std::string>(
          option,
          [=, &value](const std::string& text) {
            value = parse_number<double>(option, text, 1.0, 1e30, "a number, 1 to 1e30, e.g. 1e10");
          },
          description)
      ->type_name("X");
}

void add_latency(CLI::App& command, const std::string& option, double& value, const std::string& description) {
  command
      .add_option_function<std::string>(
          option,
          [=, &value](const std::string& text) {
            value = parse_number<double>(option, text, 0.0, 1e3, "seconds, 0 to 1000, e.g. 2e-6");
          },
          description)
      ->type_name("S");
}

}  // namespace

void add_simulate_options(CLI::App& command, CommandLine& line) {
  SimulateSettings& settings = line.simulate;
  SimulatedMachine& machine = settings.machine;
  command
      .add_option_function<std::string>(
          "--world-sizes",
          [&settings](const std::string& text) {
            settings.world_sizes = parse_list("--world-sizes", text, 1, kMostSimulatedRanks, "1,2,4");
          },
          "Numbers of ranks; default: powers of two up to one atom a rank, or to 4096 with --atoms-per-rank")
      ->type_name("N,N,...");
  add_whole(command, "--atoms", kMostAtoms, settings.atoms, "Atoms of a window; default: the config's");
  add_whole(command, "--atoms-per-rank", kMostAtoms / kMostSimulatedRanks, settings.atoms_per_rank,
            "The window grows with the ranks: so many atoms for each");
  add_whole(command, "--tokens", kMostTokens, settings.tokens, "Tokens of a sample; default: from the config");
  add_whole(command, "--ranks-per-host", kMostSimulatedRanks, machine.ranks_per_host, "Default 8");
  add_speed(command, "--flops", machine.flops, "Floating-point operations a second of a rank; default 1e11");
  add_speed(command, "--memory-bandwidth", machine.memory_bandwidth, "Bytes a second of a rank; default 1e10");
  add_speed(command, "--host-bandwidth", machine.host.bytes_per_second,
            "Bytes a second of a rank to ranks of its host; default 1e10");
  add_latency(command, "--host-latency", machine.host.latency_seconds, "Of a message there; default 2e-6");
  add_speed(command, "--network-bandwidth", machine.network.bytes_per_second,
            "Bytes a second of a host, shared by its ranks; default 1.25e9 (10 Gbit/s)");
  add_latency(command, "--network-latency", machine.network.latency_seconds,
              "Of a message between hosts; default 3e-5");
  command.add_option("--figure", settings.figure, "Also draws the efficiency, as SVG")->type_name("FILE");
}

void check_simulate_options(const CLI::App& command, const CommandLine& line) {
  const SimulateSettings& settings = line.simulate;
  if (settings.atoms > 0 && settings.atoms_per_rank > 0) {
    refuse_usage("simulate: --atoms and --atoms-per-rank; give one of them");
  }
  for (const char* option : {"--atoms", "--atoms-per-rank", "--tokens"}) {
    if (line.run_given && command.count(option) > 0) {
      refuse_usage(std::string("simulate: ") + option +
                   " with --run; the prepared plan says it: leave one of them out");
    }
  }
}

}  // namespace samegrad
