#include "samegrad/launch/accelerate_intent.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

constexpr std::string_view kWhatToDo =
    "give accelerate --multi_gpu, which starts them and needs no GPU, or start them with `samegrad train --nproc N`";

/// The number after `option`, which is written with - or _, and with a space or = before its value.
std::optional<int> number_after(std::string_view option, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    std::string name = words[i].substr(0, equals);
    std::replace(name.begin() + std::min<std::ptrdiff_t>(2, std::ssize(name)), name.end(), '-', '_');
    if (name != option) {
      continue;
    }
    const bool joined = equals < words[i].size();
    const std::string value = joined ? words[i].substr(equals + 1) : i + 1 < words.size() ? words[i + 1] : "";
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc{} && end == value.data() + value.size() && number > 0) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> parent_command() {
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    words.push_back(word);
  }
  return words;
}

std::optional<int> processes_wanted_of_accelerate(const EnvironmentLookup& lookup,
                                                  std::span<const std::string> parent_command) {
  // accelerate gives its only process an address for the others, and no rank.
  if (!lookup("ACCELERATE_MIXED_PRECISION") || !lookup(kMasterAddressVariable) || lookup(kRankVariable)) {
    return std::nullopt;
  }
  const std::optional<int> processes = number_after("--num_processes", parent_command);
  const int machines = number_after("--num_machines", parent_command).value_or(1);
  if (!processes || machines > 1) {
    throw InputError("launch", "accelerate started one process, but several were wanted" +
                                   (machines > 1 ? " on " + std::to_string(machines) + " machines" : std::string()) +
                                   ": " + std::string(kWhatToDo));
  }
  return processes;
}

}  // namespace samegrad
