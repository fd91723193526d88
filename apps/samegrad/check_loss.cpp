// `samegrad check-loss`: the 12/36 counter-example as plain arithmetic.
#include <cmath>
#include <iostream>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "samegrad/base/error.h"
#include "samegrad/objective/counter_example.h"

namespace samegrad {

int run_check_loss(const CommandLine& command) {
  const CounterExample example = counter_example(kLessonRanks);
  const bool holds = example.loss.mean_of_means == 2.0 && example.loss.global_mean == 2.5 &&
                     example.toy_gradient.mean_of_means == 0.0 && example.toy_gradient.global_mean == 1.0;
  if (command.json) {
    std::cout << result_text(counter_example_to_json(example)) << "\n";
  } else {
    std::cout << "rank 0: " << example.local_tokens[0] << " supervised tokens, loss sum " << example.local_loss_sums[0]
              << "\nrank 1: " << example.local_tokens[1] << " supervised tokens, loss sum "
              << example.local_loss_sums[1] << "\n\nmean of the ranks' means  " << example.loss.mean_of_means
              << "    what averaging per rank gives: each token of rank 0 weighs three times as much\n"
              << "mean over all tokens      " << example.loss.global_mean << "  what was meant: 120 / 48\n\n"
              << "the toy (one parameter at 0, targets +1 on rank 0 and -1 on rank 1), its gradient\n"
              << "mean of the ranks' means  " << example.toy_gradient.mean_of_means << "    it would not move at all\n"
              << "mean over all tokens      " << example.toy_gradient.global_mean
              << "    it moves towards rank 1's 36 tokens\n";
  }
  return holds ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace samegrad
