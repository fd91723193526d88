// `samegrad reference`: the gradient of the first window by the independent path, in float32 and float64.
#include <iostream>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/reference_files.h"
#include "samegrad/base/json.h"
#include "samegrad/report/loss_divisor.h"
#include "samegrad/train/weighed_batch.h"

namespace samegrad {

namespace {

int reference_run(const CommandLine& command, const RunContext& context) {
  const ReferenceFiles files = write_reference(context);
  if (command.json) {
    std::cout << result_text({{"loss_sum", files.loss.sum},
                              {"divisor", divisor_to_json(files.loss)},
                              {"supervised_tokens", files.supervised_tokens},
                              {"loss", files.loss.mean()},
                              {"float32", context.paths.reference32.string()},
                              {"float64", context.paths.reference64.string()}})
              << "\n";
  } else {
    std::cout << "reference gradient of the first window, one process, padded batches\n"
              << "  loss " << files.loss.mean() << " = " << files.loss.sum << " / " << divisor_text(files.loss) << " "
              << divisor_name(training_objective(context.config, *context.run.data.train)) << "\n"
              << "  wrote " << context.paths.reference32.string() << "\n  wrote " << context.paths.reference64.string()
              << "\n";
  }
  return 0;
}

}  // namespace

int run_reference(const CommandLine& command) {
  return in_run_context(command, [&](RunContext& context) { return reference_run(command, context); });
}

}  // namespace samegrad
