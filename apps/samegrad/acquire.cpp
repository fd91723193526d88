#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/config/load.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

struct RunInput {
  std::string name;
  std::string kind;    ///< generated, file, address
  std::string source;  ///< a person's words, or the path
  std::int64_t bytes = 0;
  std::string problem;  ///< empty: it is there
};

bool is_address(const std::string& text) {
  const std::size_t colon = text.find("://");
  return colon != std::string::npos && colon > 0 &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; });
}

RunInput generated(std::string name, const std::string& what, std::int64_t seed) {
  return {std::move(name), "generated", what + ", from seed " + std::to_string(seed), 0, ""};
}

RunInput from_file(std::string name, const std::string& path) {
  RunInput input{std::move(name), "file", path, 0, ""};
  if (is_address(path)) {
    input.kind = "address";
    input.problem = "is an address; samegrad downloads nothing: fetch it yourself and give the file's path";
    return input;
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    input.problem = "there is no such file";
  } else if (!std::filesystem::is_regular_file(status)) {
    input.problem = "is no regular file";
  } else if (access(path.c_str(), R_OK) != 0) {
    input.problem = "cannot be read by this user";
  } else {
    input.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  }
  return input;
}

std::vector<RunInput> inputs_of(const RunConfig& config) {
  const DataConfig& data = config.data;
  std::vector<RunInput> inputs;
  if (data.task == "lesson") {
    inputs.push_back(generated("training data", grouped(data.train_sequences) + " sequences", config.seed));
    inputs.push_back(generated("validation data", grouped(data.validation_sequences) + " sequences", config.seed));
    inputs.push_back(generated("test data", grouped(data.test_sequences) + " sequences", config.seed));
  } else {
    inputs.push_back(from_file("data.train", data.train));
    if (!data.validation.empty()) {
      inputs.push_back(from_file("data.validation", data.validation));
    }
  }
  inputs.push_back(generated("initial weights", "from scratch", config.seed));
  return inputs;
}

void print_json(const std::vector<RunInput>& inputs, std::ptrdiff_t problems) {
  Json list = Json::array();
  for (const RunInput& input : inputs) {
    list.push_back({{"name", input.name},
                    {"kind", input.kind},
                    {"source", input.source},
                    {"bytes", input.bytes},
                    {"problem", input.problem.empty() ? Json(nullptr) : Json(input.problem)}});
  }
  std::cout << result_text({{"ok", problems == 0}, {"to_acquire", problems}, {"inputs", list}}) << "\n";
}

void print_table(const std::vector<RunInput>& inputs, std::ptrdiff_t problems) {
  Table table({{"input"}, {"kind"}, {"from"}, {"state"}});
  for (const RunInput& input : inputs) {
    const std::string there = input.kind == "file" ? bytes_text(input.bytes) : "nothing to acquire";
    table.add_row({input.name, input.kind, input.source, input.problem.empty() ? there : input.problem});
  }
  std::cout << table.render();
  if (problems == 0) {
    std::cout << "\nChecked: all " << inputs.size() << " inputs are generated or local. Nothing has to be acquired.\n";
  }
}

}  // namespace

int run_acquire(const CommandLine& command) {
  const std::vector<RunInput> inputs = inputs_of(load_config(command.config, command.overrides));
  const auto missing = [](const RunInput& input) { return !input.problem.empty(); };
  const std::ptrdiff_t problems = std::count_if(inputs.begin(), inputs.end(), missing);
  command.json ? print_json(inputs, problems) : print_table(inputs, problems);
  if (const auto first = std::find_if(inputs.begin(), inputs.end(), missing); first != inputs.end()) {
    throw InputError("acquire", first->name + ": '" + first->source + "' " + first->problem);
  }
  return 0;
}

}  // namespace samegrad
