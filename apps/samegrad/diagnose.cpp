// `samegrad diagnose`: what mistake makes one gradient file out of another.
#include "samegrad/report/diagnose.h"

#include <iostream>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"

namespace samegrad {
namespace {

/// Exit code 3 says something about the gradients; a file that cannot be read is bad input.
SafetensorsFile open_file(const std::string& path) {
  try {
    return SafetensorsFile(path);
  } catch (const CheckError& error) {
    const std::string line = error.what();
    throw InputError("diagnose", line.substr(line.find("] ") + 2));
  }
}

}  // namespace

int run_diagnose(const CommandLine& command) {
  const SafetensorsFile a = open_file(command.diagnose_files.at(0));
  const SafetensorsFile b = open_file(command.diagnose_files.at(1));
  std::vector<SafetensorsFile> rank_files;
  std::vector<std::vector<TensorView>> rank_gradients;
  for (const std::string& path : command.rank_gradients) {
    rank_gradients.push_back(rank_files.emplace_back(open_file(path)).tensors());
  }
  const Diagnosis diagnosis = diagnose_tensors(a.tensors(), b.tensors(), rank_gradients,
                                               {.world_size = command.world_size,
                                                .accumulation = command.accumulation,
                                                .samples = command.samples,
                                                .rank_tokens = command.rank_tokens});
  if (command.json) {
    std::cout << result_text(diagnosis_to_json(diagnosis)) << "\n";
  } else {
    std::cout << diagnosis_text(diagnosis, TextStyle{.colour = log_uses_colour()});
  }
  return diagnosis.same() ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace samegrad
