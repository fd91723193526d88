// A user's program: init(), one collective, and what it found, as one line of JSON.
//   init_probe [rank=R] [world_size=W] [rendezvous=TEXT] [backend=NAME] [timeout_s=S]
//              [mkl_first] [twice] [throws=RANK] [exits=RANK]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/comm/init.h"

namespace {

samegrad::InitOptions options_of(const std::map<std::string, std::string>& words) {
  samegrad::InitOptions options;
  for (const auto& [name, value] : words) {
    if (name == "rank") options.rank = std::stoi(value);
    if (name == "world_size") options.world_size = std::stoi(value);
    if (name == "rendezvous") options.rendezvous = value;
    if (name == "backend") options.backend = value;
    if (name == "timeout_s") options.timeout = std::chrono::seconds(std::stoi(value));
  }
  return options;
}

int run(std::map<std::string, std::string>& words) {
  if (words.contains("mkl_first")) {
    at::mm(at::ones({8, 8}), at::ones({8, 8}));
  }
  const samegrad::World world = samegrad::init(options_of(words));
  if (words.contains("twice")) {
    samegrad::init();
  }
  if (words["throws"] == std::to_string(world.rank())) {
    throw std::runtime_error("a user's own trouble");
  }
  if (words["exits"] == std::to_string(world.rank())) {
    std::exit(7);
  }
  const bool any = world.any(world.rank() == world.size() - 1);
  const samegrad::Json found{{"rank", world.rank()},
                             {"size", world.size()},
                             {"backend", world.backend()},
                             {"any", any},
                             {"threads", at::get_num_threads()}};
  std::cout << found.dump() + "\n" << std::flush;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    words[word.substr(0, equals + (word[equals] == '=' ? 0 : 1))] = word.substr(equals + 1);
  }
  try {
    return run(words);
  } catch (const samegrad::Error& error) {  // of other exceptions the process dies, as a user's may
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.exit_code());
  }
}
